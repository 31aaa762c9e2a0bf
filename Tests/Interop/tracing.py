"""System calls that fail on request, by strace(1)."""

import shutil
import signal
import time

from harness import Child, Failure, Skipped


def attach(proxy, calls, what, path=None):
    """Applies `what` (the part of `-e inject=` after the calls) to the daemon's system calls from now on:
    to all of them, or to those on the path. Returns the tracer; its end is the end of the fault."""
    if not shutil.which("strace"):
        raise Skipped("strace is not installed")
    only = ["-P", path] if path else []
    tracer = Child(
        ["strace", "-f", "-p", str(proxy.child.pid), *only, "-e", f"trace={calls}",
         "-e", f"inject={calls}:{what}"],
        proxy.directory, proxy.world.unique("strace"))
    deadline = time.monotonic() + 20
    while "attached" not in tracer.stderr():
        if not tracer.running() or time.monotonic() > deadline:
            raise Failure(f"strace does not trace the daemon: {tracer.stderr()[-500:]}")
        time.sleep(0.02)
    return tracer


class Tampered:
    """A context in which the system modifies some calls of the daemon."""

    def __init__(self, proxy, calls, what, path=None):
        self.proxy, self.calls, self.what, self.path = proxy, calls, what, path

    def __enter__(self):
        self.tracer = attach(self.proxy, self.calls, self.what, self.path)
        return self

    def __exit__(self, *_):
        # The daemon continues without the fault.
        self.tracer.signal(signal.SIGINT)
        self.tracer.wait(10)


class Refused(Tampered):
    """A context in which the system refuses some calls of the daemon with an error such as EIO."""

    def __init__(self, proxy, calls, error, path=None):
        super().__init__(proxy, calls, f"error={error}", path)

    def was_hit(self):
        """Whether a call was refused."""
        return "(INJECTED)" in self.tracer.stderr()


class Delayed(Tampered):
    """A context in which some calls of the daemon take the given number of seconds longer."""

    def __init__(self, proxy, calls, seconds, path=None):
        super().__init__(proxy, calls, f"delay_enter={seconds}s", path)
