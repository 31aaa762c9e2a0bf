"""Invalid input from every side: configuration, requests, upstreams. The daemon reports it and survives."""

import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

from harness import accepts, case, check, equal, eventually, free_port
from proxy import Netproxy
from traffic import Silent, curl, problem_of, raw
from world import run

TEN_FAULTS = """\
listne: [127.0.0.1:{port}]
listen: ["0.0.0.0:{port}"]
drain: 5
limits: {{ header_size: "16" }}
log:
  directory: {directory}
  format: xml
channels:
  Bad_Name:
    upstream: https://api.example.com
  orders:
    upstream: ftp://api.example.com
  users:
    upstream: https://api.example.com
    timeouts: {{ connect: fast }}
  tokens:
    upstream: https://api.example.com
    auth:
      oauth:
        grant: client_credentials
        token_url: https://login.example.com/token
        client_id: tokens
        client_secret: a-bare-string
        client_auth: magic
"""

FAULTY_KEYS = ["listne", "listen", "drain", "limits.header_size", "log.format",
               "channels.Bad_Name", "channels.orders.upstream", "channels.users.timeouts.connect",
               "channels.tokens.auth.oauth.client_secret",
               "channels.tokens.auth.oauth.client_auth"]


@case
def ten_faults_are_ten_lines(world):
    proxy = Netproxy(world, {})
    proxy.write_config(TEN_FAULTS.format(port=proxy.port, directory=proxy.log_directory))
    for command in ("check", "run"):
        done = proxy.command(command)
        equal(done.returncode, 78, f"exit code of {command} ({done.stderr})")
        lines = done.stderr.splitlines()
        pattern = re.compile(
            re.escape(proxy.config_path) + r":\d+:\d+: (\S+?)(?:\[\d+\]|\.\d+)?: .+")
        found = [match.group(1) for line in lines if (match := pattern.fullmatch(line))]
        equal(sorted(found), sorted(FAULTY_KEYS), f"keys that {command} complains about")
        equal(len(lines), 10, f"lines on standard error ({done.stderr})")
        unknown = next(line for line in lines if ": listne: " in line)
        check("listen" in unknown.split(": listne: ")[1], f"no proposal: {unknown}")
        check("a-bare-string" not in done.stderr, "the bare secret is repeated")
    check(not accepts(proxy.port), "something listens after all")


@case
def a_good_configuration_passes_the_check(world):
    proxy = Netproxy(world, {"orders": world.oauth_channel(world.auth.register())})
    proxy.write_config()
    done = proxy.command("check")
    equal(done.returncode, 0, f"exit code ({done.stderr})")


@case
def wrong_usage_is_64_and_no_daemon_is_69(world):
    proxy = Netproxy(world, {"orders": world.channel("/files")})
    proxy.write_config()
    equal(proxy.command("no-such-command", config=False).returncode, 64, "an unknown command")
    equal(proxy.command("run", "--no-such-option").returncode, 64, "an unknown option")
    equal(proxy.command("status").returncode, 69, "status without a daemon")


MALFORMED = {
    "no version": b"GET /orders/x\r\nHost: localhost\r\n\r\n",
    "two spaces": b"GET  /orders/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bare LF": b"GET /orders/x HTTP/1.1\nHost: localhost\n\n",
    "no Host": b"GET /orders/x HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    "space before the colon": b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\nX : 1\r\n\r\n",
    "a folded line": b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n 2\r\n\r\n",
    "NUL in a value": b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "an empty name": b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\n: 1\r\n\r\n",
    "a signed length": b"POST /orders/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello",
    "two lengths":
        b"POST /orders/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Content-Length: 6\r\n\r\nhello",
    "length and chunked":
        b"POST /orders/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked on 1.0":
        b"POST /orders/x HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n",
}


@case
def malformed_requests_are_400_and_close(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        for name, request in MALFORMED.items():
            received, closed = raw(proxy.port, request)
            head, _, body = received.partition(b"\r\n\r\n")
            text = head.decode("latin-1")
            check(text.startswith("HTTP/1.1 400 "), f"{name}: {text[:80]!r}")
            check(closed, f"{name}: the connection stayed open")
            check(re.search(r"(?im)^proxy-status: netproxy; ?error=http_request_error", text),
                  f"{name}: no Proxy-Status in {text!r}")
            check(re.search(r"(?im)^connection: close", text), f"{name}: no Connection: close")
            problem = json.loads(body)
            equal(problem["type"], "urn:netproxy:error:http_request_error", f"{name}: type")
        for name, status, request in (
            ("a long target", 414, b"GET /orders/" + b"x" * 9000 +
             b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("large fields", 431, b"GET /orders/x HTTP/1.1\r\nHost: localhost\r\n" +
             b"X: %s\r\n" % (b"y" * 20000) + b"\r\n"),
            ("HTTP/3.0", 505, b"GET /orders/x HTTP/3.0\r\nHost: localhost\r\n\r\n"),
        ):
            received, closed = raw(proxy.port, request)
            check(received.startswith(b"HTTP/1.1 %d " % status), f"{name}: {received[:60]!r}")
            check(closed, f"{name}: the connection stayed open")
        check(curl(proxy, proxy.url("/orders/hello.txt")).status == 200, "the daemon serves on")
        with open(world.access_log, encoding="utf-8") as log:
            check('"uri":"/files/x"' not in log.read(), "a malformed request reached nginx")


@case
def faults_upstream_are_answered_and_leak_nothing(world):
    """Refused, hanging, silent, not TLS, wrong certificate, unknown name: each has its own response and
    its own duration, and afterward no descriptor is left open."""
    quick = {"retry": {"attempts": 0}, "timeouts": {"connect": "1s", "response": "1s"},
             "pool": {"idle": "1s"}}
    with Silent() as silent, Silent(full=True) as full:
        faults = {
            "refused": (f"https://127.0.0.1:{free_port()}", 502, ("connection_refused",), 5),
            "hanging": (f"http://127.0.0.1:{full.port}", 504, ("connection_timeout",), 7),
            "silent": (f"http://127.0.0.1:{silent.port}", 504, ("http_response_timeout",), 7),
            "not-tls": (f"https://127.0.0.1:{world.auth.port}", 502, ("tls_protocol_error",), 5),
            "distrusted": (world.origin, 502, ("tls_certificate_error",), 5),
            "nameless": ("https://no-such-name.invalid", None, ("dns_error", "dns_timeout"), 15),
        }
        channels = {name: {"upstream": fault[0], **quick} for name, fault in faults.items()}
        channels["good"] = world.channel("/files", pool={"idle": "1s"})
        with Netproxy(world, channels) as proxy:
            def round_of_faults(names):
                for name in names:
                    _, status, errors, seconds = faults[name]
                    answer = curl(proxy, proxy.url(f"/{name}/x"))
                    problem = problem_of(answer)
                    error = problem["type"].rpartition(":")[2]
                    check(error in errors, f"{name}: {error} instead of {errors}: {problem}")
                    wanted = status or {"dns_error": 502, "dns_timeout": 504}[error]
                    equal(answer.status, wanted, f"status of {name}")
                    check(f"netproxy; error={error}" in answer.fields.get("proxy-status", ""),
                          f"{name}: Proxy-Status {answer.fields.get('proxy-status')!r}")
                    check(answer.seconds < seconds, f"{name} took {answer.seconds:.1f} s")
                    line = eventually(lambda: proxy.exchanges(name), f"{name}.log has a line")[-1]
                    equal((line["status"], line["error"]), (wanted, error), f"log of {name}")

            round_of_faults(faults)
            equal(curl(proxy, proxy.url("/good/hello.txt")).status, 200, "a good channel")
            baseline = settled_descriptors(proxy)
            for _ in range(5):
                round_of_faults(["refused", "silent", "not-tls", "distrusted"])
            round_of_faults(["hanging"])
            for _ in range(20):
                raw(proxy.port, MALFORMED["no Host"])
            equal(curl(proxy, proxy.url("/good/hello.txt")).status, 200, "a good channel")
            eventually(lambda: proxy.descriptors() <= baseline,
                       f"back to {baseline} descriptors (now {proxy.descriptors()})", 10, 0.1)


def settled_descriptors(proxy):
    """Returns the number of open descriptors after it has been constant for 1.5 s."""
    count, since = proxy.descriptors(), time.monotonic()
    deadline = since + 15
    while time.monotonic() - since < 1.5:
        check(time.monotonic() < deadline, "the number of descriptors never settles")
        time.sleep(0.1)
        if (now := proxy.descriptors()) != count:
            count, since = now, time.monotonic()
    return count


@case
def an_aborting_client_leaves_nothing_behind(world):
    """Clients that disconnect during a download: the descriptors are closed, and the log names the client."""
    world.random_file("files", "big.bin", size=50 << 20)
    with Netproxy(world, {"slow": world.channel("/slow-files", pool={"idle": "1s"})}) as proxy:
        curl(proxy, proxy.url("/slow/hello.txt"))
        baseline, word = settled_descriptors(proxy), world.unique("abort")
        for _ in range(5):
            answer = curl(proxy, proxy.url(f"/slow/big.bin?{word}"), seconds=1)
            equal(answer.exit_code, 28, "curl's exit code")
        eventually(lambda: proxy.descriptors() <= baseline,
                   f"back to {baseline} descriptors (now {proxy.descriptors()})", 10, 0.1)
        line = proxy.exchange("slow", word)
        equal(line["aborted_by"], "client", "aborted_by in the log")


class Odd(Netproxy):
    """A daemon whose process begins in an unusual state."""

    def __init__(self, *arguments, prepare=None, streams=None, **keys):
        super().__init__(*arguments, **keys)
        self.prepare, self.streams = prepare, streams or {}

    def start(self):
        self.write_config()
        self.process = subprocess.Popen(
            [self.world.netproxy, "run", "--config", self.config_path], env=self.environment(),
            stdin=subprocess.DEVNULL, preexec_fn=self.prepare, **self.streams)
        eventually(lambda: self.process.poll() is not None or accepts(self.port),
                   "netproxy listens or ends", 20)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(12)
        except subprocess.TimeoutExpired:
            self.process.kill()
        check(self.process.wait() == 0, f"netproxy exited {self.process.returncode}")


@case
def closed_streams_are_nobody_elses(world):
    """Messages for a person must not reach a descriptor that reuses the number of a closed stream."""
    def close_all():
        for number in range(3):
            os.close(number)

    with Odd(world, {"static": world.channel("/files")}, prepare=close_all) as proxy:
        equal(curl(proxy, proxy.url("/static/hello.txt")).status, 200, "with closed streams")
        streams = [os.readlink(f"/proc/{proxy.process.pid}/fd/{number}") for number in range(3)]
        equal(streams, ["/dev/null"] * 3, "standard streams")


@case
def helpers_end_where_nobody_hears_of_it(world):
    """An ignored SIGCHLD survives exec; some supervisors pass it on."""
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    channels = {
        "helped": {**world.channel("/files"), "auth": {"exec": ["/bin/echo", "from-a-helper"]}},
        "read": {**world.channel("/files"), "auth": {"bearer": "exec:/bin/hostname"}},
    }
    with Odd(world, channels, prepare=ignore) as proxy:
        for name in channels:
            begun = time.monotonic()
            equal(curl(proxy, proxy.url(f"/{name}/hello.txt")).status, 200, name)
            check(time.monotonic() - begun < 5, "it waits for the helper's output only")


@case
def a_reader_that_hangs_stops_nothing(world):
    """Standard error is a full pipe: a pager, a terminal after Ctrl-S, a collector that hangs."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    proxy = Odd(world, {"static": world.channel("/files")}, streams={"stderr": writing})
    with proxy:
        for _ in range(100):
            equal(proxy.command("reload").returncode, 0, "exit code of reload")
        equal(curl(proxy, proxy.url("/static/hello.txt")).status, 200, "status")
    os.close(writing)
    os.close(reading)


@case
def a_daemon_without_descriptors_says_so_and_lives(world):
    """Too few descriptors at the start; and clients that use all descriptors while a token is required."""
    few = Netproxy(world, {"static": world.channel("/files")}, workers=1)
    few.write_config()
    for count in range(7, 14):
        def limit_to(count=count):
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

        done = subprocess.run(
            [world.netproxy, "run", "--config", few.config_path], env=few.environment(),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, preexec_fn=limit_to,
            check=False)
        check(done.returncode in (1, 78),
              f"with {count} descriptors it exited {done.returncode}: {done.stderr[-200:]}")
    channels = {"helped": {**world.channel("/files"),
                           "auth": {"exec": ["/bin/echo", "from-a-helper"]}}}

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with Odd(world, channels, prepare=limit, workers=1) as proxy:
        apps = [socket.create_connection(("127.0.0.1", proxy.port)) for _ in range(100)]
        time.sleep(0.5)
        check(proxy.command("status").returncode == 0, "status answers")
        for app in apps:
            app.close()
        eventually(lambda: curl(proxy, proxy.url("/helped/hello.txt")).status == 200,
                   "it serves again", 10, 0.1)


@case
def outputs_that_cannot_be_written_end_nothing(world):
    """/dev/full behaves like a full disk."""
    proxy = Netproxy(world, {"orders": world.channel("/files")})
    proxy.write_config()
    with open("/dev/full", "wb", buffering=0) as full:
        daemon = subprocess.Popen(
            [world.netproxy, "run", "--config", proxy.config_path], stdin=subprocess.DEVNULL,
            stdout=full, stderr=full, cwd=proxy.directory, env=proxy.environment())
        try:
            eventually(lambda: accepts(proxy.port), "the daemon listens")
            equal(curl(proxy, proxy.url("/orders/hello.txt")).status, 200, "status")
            daemon.terminate()
            equal(daemon.wait(10), 0, "exit code of the daemon")
        finally:
            daemon.kill()
            daemon.wait(5)
        tail = subprocess.run(
            [world.netproxy, "tail", "--config", proxy.config_path], stdin=subprocess.DEVNULL,
            stdout=full, stderr=subprocess.PIPE, timeout=20, env=proxy.environment())
        equal(tail.returncode, 1, "exit code of tail")
        check(b"standard output: write: No space left" in tail.stderr, f"tail says {tail.stderr}")
