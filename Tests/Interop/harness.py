"""Cases, bounded waits, ports and child processes for all parts of the suite."""

import os
import random
import signal
import socket
import subprocess
import time

CASES = []


class Failure(Exception):
    """A case failed."""


class Skipped(Exception):
    """A case requires a program that this machine does not have."""


def case(function):
    """Registers a case under its function's name, with hyphens for underscores."""
    CASES.append((function.__name__.replace("_", "-"), function))
    return function


def check(condition, reason):
    """Fails the case with the reason unless the condition is true."""
    if not condition:
        raise Failure(reason)


def equal(found, expected, what):
    """Fails the case unless both are equal."""
    if found != expected:
        raise Failure(f"{what}: expected {expected!r}, found {found!r}")


def eventually(probe, what, seconds=10.0, every=0.02):
    """Waits until the probe returns a true value, and returns it; fails at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        result = probe()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds:g} s: {what}")
        time.sleep(every)


GIVEN_PORTS = set()


def free_port():
    """Returns an unused loopback port below the range of outgoing connections. No port is returned twice,
    because the caller might not listen on it yet."""
    for _ in range(200):
        port = random.randint(20000, 32000)
        if port in GIVEN_PORTS:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        GIVEN_PORTS.add(port)
        return port
    raise Failure("no free loopback port")


def accepts(port):
    """Whether something listens on the loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def clean_environment(**extra):
    """Returns the caller's environment without variables that make programs use a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith(("NETPROXY_", "PYTHON"))
    }
    return {**kept, **extra}


class Child:
    """A child process with its output in files; stopped only by its own process ID."""

    started = []

    def __init__(self, arguments, directory, name, environment=None, descriptors=()):
        self.name = name
        self.stdout_path = os.path.join(directory, name + ".stdout")
        self.stderr_path = os.path.join(directory, name + ".stderr")
        with open(self.stdout_path, "ab") as out, open(self.stderr_path, "ab") as err:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=directory,
                env=environment or clean_environment(),
                start_new_session=True,
                pass_fds=descriptors,
            )
        Child.started.append(self)

    @classmethod
    def kill_the_rest(cls):
        """Kills the processes that a failed case has left running."""
        for child in cls.started:
            if child.running():
                child.process.kill()
                child.process.wait(5)

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process.poll() is None

    def stderr(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_port(self, port, seconds=20.0):
        """Waits until the port accepts connections; fails immediately if the process ends first."""

        def probe():
            if not self.running():
                tail = "\n".join(self.stderr().splitlines()[-15:])
                raise Failure(f"{self.name} ended with {self.process.returncode}: {tail}")
            return accepts(port)

        eventually(probe, f"{self.name} accepts on port {port}", seconds)

    def signal(self, number):
        if self.running():
            os.kill(self.pid, number)

    def wait(self, seconds):
        """Returns the exit status; fails if the process still runs after the time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} still runs after {seconds:g} s") from None

    def stop(self, seconds=10.0):
        """Sends SIGTERM, and SIGKILL if the process does not end in time. Returns the exit status."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait(seconds)
        finally:
            if self.running():
                self.process.kill()
                self.process.wait(5)
