"""Measures the cost of a process: its CPU time from the scheduler, its memory, and load by wrk."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(CHECKOUT, "Tests", "Interop"))

from harness import Failure, clean_environment  # noqa: E402

# A termination from outside, such as by a time limit, also cleans up.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))

PROXY_CORE = "0"
LOAD_CORE = "1"
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}
LUA = """
local wait = {delay}
if wait > 0 then function delay() return wait end end
function done(summary, latency)
    local errors = summary.errors
    io.write(string.format("RESULT %d %d %d %d %d %d %d\\n", summary.requests, summary.duration,
        errors.status, errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50), latency:percentile(99.9), latency.max))
end
"""


def pinned(core, command):
    """Returns the command with a prefix that restricts it to these cores."""
    return ["taskset", "-c", core, *command]


def processes(pid):
    """Returns the process and its descendants."""
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        try:
            with open(f"/proc/{one}/task/{one}/children", encoding="ascii") as file:
                left += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def cpu_seconds(pid):
    """Returns the CPU time of all threads of the process and its descendants, to the nanosecond."""
    total = 0
    for one in processes(pid):
        for thread in os.listdir(f"/proc/{one}/task"):
            try:
                with open(f"/proc/{one}/task/{thread}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass
    return total / 1e9


def private_kib(pid):
    """Returns the anonymous memory of the process and its descendants, in KiB."""
    total = 0
    for one in processes(pid):
        with open(f"/proc/{one}/status", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("RssAnon"))
    return total


class Load:
    """One run of wrk against one proxy. Latencies in microseconds."""

    def __init__(self, directory, delay_ms=0, core=LOAD_CORE):
        self.core = core
        self.script = os.path.join(directory, f"wrk-{delay_ms}.lua")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(LUA.replace("{delay}", str(delay_ms)))

    def run(self, child, url, connections, seconds, headers=(), meanwhile=None):
        """Measures the cost of each request to the child; calls `meanwhile` while the load runs."""
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s",
                   self.script, url]
        for field in headers:
            command += ["-H", field]
        before = cpu_seconds(child.pid)
        with subprocess.Popen(pinned(self.core, command), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              env=clean_environment()) as process:
            try:
                if meanwhile:
                    meanwhile()
                output, _ = process.communicate(timeout=seconds + 30)
            finally:
                if process.poll() is None:
                    process.kill()
        used = cpu_seconds(child.pid) - before
        found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", output)
        if not found:
            raise Failure(f"wrk said: {output[-500:]}")
        requests, duration, bad, broken, median, tail, worst = map(int, found.groups())
        if not requests or bad or broken:
            raise Failure(f"{child.name} {url}: {requests} requests, {bad} not 2xx or 3xx, "
                          f"{broken} socket errors")
        return {"cpu_us": used / requests * 1e6, "per_second": requests / duration * 1e6,
                "p50_us": median, "p999_us": tail, "max_us": worst, "requests": requests}


def hold(port, target, count):
    """Opens the given number of connections, sends one request on each, and keeps them open."""
    held = []
    request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), 10)
        held.append(connection)
        connection.sendall(request)
        answer = connection.recv(65536)
        if b" 200 " not in answer[:20]:
            raise Failure(f"port {port} answered {answer[:200]!r}")
    return held


def allow_many_files():
    """Raises the limit of open files to its maximum, for this process and its children."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
