"""Two machines on one: two network namespaces with a cable between them, or two addresses of the loopback device where namespaces may not be made."""
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager


class Machine:
    """An address, and what stands in front of commands that run there."""

    def __init__(self, address, enter):
        self.address = address
        self.enter = enter

    @contextmanager
    def running(self, command, **variables):
        """Runs a program there for as long as the context lasts; what it started ends with it. What it prints goes where pytest shows it."""
        process = subprocess.Popen([*self.enter, *command], env=os.environ | variables, stdout=sys.stderr, stderr=sys.stderr, start_new_session=True)
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                pass
            # What is left of the group, whose number is its own as long as it has members.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def succeeds(self, command, within):
        """Runs a program there again and again until it succeeds, for so many seconds."""
        until = time.monotonic() + within
        while subprocess.run([*self.enter, *command], stdout=sys.stderr, stderr=sys.stderr).returncode != 0:
            assert time.monotonic() < until, f"{command} does not succeed"
            time.sleep(1)

    def answer(self, command, **variables):
        """The last line that a program prints there."""
        done = subprocess.run([*self.enter, *command], env=os.environ | variables, stdout=subprocess.PIPE, stderr=sys.stderr, text=True, timeout=240, check=True)
        return done.stdout.splitlines()[-1]


@contextmanager
def namespace(enter, *options):
    """A network namespace, made by a program behind `enter`; it is there as long as a process is in it, whose number this gives."""
    command = [*enter, "unshare", *options, "--net", "sh", "-c", "echo in; exec sleep infinity"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.pid if process.stdout.readline() == "in\n" else None
    finally:
        process.kill()
        process.wait()


@contextmanager
def two():
    """Two machines that reach each other."""
    # Who is not root may make networks where he is: in a user namespace of his own.
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    into = ["--user", "--preserve-credentials", "--net"] if user else ["--net"]
    with ExitStack() as stack:
        first = stack.enter_context(namespace([], *user))
        if first is not None:
            left = ["nsenter", f"--target={first}", *into]
            second = stack.enter_context(namespace(left))
            right = ["nsenter", f"--target={second}", *into]
            # Addresses for documentation (RFC 5737), which nobody else has.
            cable = ["type", "veth", "peer", "name", "cable", "netns", str(second)]
            commands = [(left, ["link", "add", "cable", *cable])]
            for enter, address in [(left, "198.51.100.1/24"), (right, "198.51.100.2/24")]:
                commands += [(enter, words.split()) for words in [f"address add {address} dev cable", "link set cable up", "link set lo up"]]
            if second is not None and all(subprocess.run([*enter, "ip", *words]).returncode == 0 for enter, words in commands):
                yield [Machine("198.51.100.1", left), Machine("198.51.100.2", right)]
                return
        print("no network namespaces: two addresses of the loopback device stand for machines", file=sys.stderr)
        yield [Machine("127.0.0.1", []), Machine("127.0.0.2", [])]
