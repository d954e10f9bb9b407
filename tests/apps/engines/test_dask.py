"""Dask with a worker for each device."""
import json
import os
import sys

import machines
from kernels import compute

DEVICES = int(os.environ["WARPLOOM_DEVICE_COUNT"])


def gathered(client):
    """What each worker computes, once all are there: by worker, as each of them has one device."""
    return list(client.run(compute, 10_000, 3).values())


def check(results, devices):
    assert len(results) == devices
    assert all(result["right"] for result in results)
    assert len({result["process"] for result in results}) == devices


def test_local_cluster():
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster(dashboard_address=None) as cluster, Client(cluster) as client:
        results = gathered(client)
        check(results, DEVICES)
        # Each worker has another of them as its first.
        assert len({result["device"] for result in results}) == DEVICES
        futures = client.map(compute, range(1000, 1020), [7] * 20)
        assert all(result["right"] for result in client.gather(futures))


def test_some_devices():
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster(CUDA_VISIBLE_DEVICES=[1, 2], dashboard_address=None) as cluster, Client(cluster) as client:
        results = gathered(client)
        check(results, 2)
        assert len({result["device"] for result in results}) == 2
        assert {result["seen"] for result in results} == {2}


def test_two_machines():
    each = {"WARPLOOM_DEVICE_COUNT": "2"}
    with machines.two() as [first, second]:
        scheduler = f"tcp://{first.address}:8786"
        begin = ["dask", "scheduler", "--host", first.address, "--port", "8786", "--no-dashboard"]
        # Twice as many devices as a machine has: both have to have come.
        with first.running(begin), first.running(workers(first, scheduler), **each), second.running(workers(second, scheduler), **each):
            by_address = json.loads(first.answer([sys.executable, __file__, scheduler, "4"]))
    check(list(by_address.values()), 4)
    for machine in (first, second):
        devices = {result["device"] for address, result in by_address.items() if f"//{machine.address}:" in address}
        assert len(devices) == 2


def workers(machine, scheduler):
    return ["dask", "cuda", "worker", scheduler, "--host", machine.address, "--no-dashboard"]


def main(scheduler, workers):
    from distributed import Client

    with Client(scheduler, timeout=120) as client:
        client.wait_for_workers(int(workers), timeout=120)
        print(json.dumps(client.run(compute, 10_000, 3)))


if __name__ == "__main__":
    main(*sys.argv[1:])
