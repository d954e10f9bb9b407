"""Ray, whose tasks and actors ask for devices."""
import json
import os
import sys
import tempfile
import time

import machines
import pytest
import ray
from kernels import compute

DEVICES = int(os.environ["WARPLOOM_DEVICE_COUNT"])


@ray.remote(num_gpus=1)
class Worker:
    """Has a device as long as it lives."""

    def compute(self):
        return compute(10_000, 3) | {"numbers": ray.get_gpu_ids(), "machine": ray.util.get_node_ip_address()}


@ray.remote(num_gpus=1)
def task(count):
    return compute(count, 7)


def gathered(devices):
    """What workers compute that have all devices among them."""
    workers = [Worker.remote() for _ in range(devices)]
    results = ray.get([worker.compute.remote() for worker in workers], timeout=200)
    for worker in workers:
        ray.kill(worker)
    return results


def check(results):
    for result in results:
        assert result["right"]
        # Others' devices are hidden from it.
        assert result["seen"] == 1 and len(result["numbers"]) == 1
    # Addresses of nodes and numbers of devices there: no device is given away twice.
    assert len({(result["machine"], *result["numbers"]) for result in results}) == len(results)
    assert len({(result["machine"], result["device"]) for result in results}) == len(results)


@pytest.fixture(scope="module")
def local():
    # Its sockets' names may not be long.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(num_cpus=DEVICES, include_dashboard=False, _temp_dir=folder, _node_ip_address="127.0.0.1")
        yield
        ray.shutdown()


def test_devices_are_found(local):
    assert ray.cluster_resources()["GPU"] == DEVICES


def test_actors_have_a_device_each(local):
    check(gathered(DEVICES))


def test_tasks(local):
    counts = range(1000, 1000 + 2 * DEVICES)
    results = ray.get([task.remote(count) for count in counts], timeout=200)
    assert all(result["right"] and result["seen"] == 1 for result in results)


def test_two_machines():
    each = {"WARPLOOM_DEVICE_COUNT": "2"}
    with machines.two() as [first, second], tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        head = f"{first.address}:6399"
        begin = ["ray", "start", "--block", "--num-cpus=2", "--disable-usage-stats"]
        leader = [*begin, "--head", "--port=6399", f"--node-ip-address={first.address}", "--include-dashboard=false", f"--temp-dir={folder}"]
        follower = [*begin, f"--address={head}", f"--node-ip-address={second.address}"]
        with first.running(leader, **each):
            first.succeeds(["ray", "health-check", "--address", head], within=120)
            with second.running(follower, **each):
                results = json.loads(first.answer([sys.executable, __file__, head, first.address, "4"], **each))
    check(results)
    by_machine = [sum(result["machine"] == machine.address for result in results) for machine in (first, second)]
    assert by_machine == [2, 2]


def main(head, address, devices):
    ray.init(address=head, _node_ip_address=address)
    until = time.monotonic() + 120
    while ray.cluster_resources().get("GPU", 0) < int(devices) and time.monotonic() < until:
        time.sleep(1)
    print(json.dumps(gathered(int(devices))))


if __name__ == "__main__":
    main(*sys.argv[1:])
