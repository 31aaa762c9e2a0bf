"""The operator's view of the daemon: tail, status, why, admin, signals, stopping."""

import contextlib
import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time

from cases_admin import admin
from harness import Failure, accepts, case, check, clean_environment, equal, eventually
from proxy import Netproxy
from traffic import curl
from world import run


def static(world, **keys):
    return Netproxy(world, {"static": world.channel("/files")}, **keys)


@case
def tail_shows_the_last_lines(world):
    with static(world) as proxy:
        words = [world.unique("tail") for _ in range(8)]
        for number, word in enumerate(words):
            name = "hello.txt" if number % 2 else "missing.txt"
            curl(proxy, proxy.url(f"/static/{name}?{word}"))
        eventually(lambda: len(proxy.exchanges("static")) == 8, "eight lines in static.log", 5)
        done = proxy.command("tail", "-n", "5", "--json")
        equal(done.returncode, 0, f"exit code ({done.stderr})")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        # Loops write independently: the file is not sorted, but the output of tail is.
        ours = [record["request_id"] for record in
                sorted(proxy.exchanges("static"), key=lambda record: record["time"])][-5:]
        equal([line["request_id"] for line in lines], ours, "the last five, newest last")
        done = proxy.command("tail", "-n", "5")
        equal((done.returncode, len(done.stdout.splitlines())), (0, 5), "lines for people")
        done = proxy.command("tail", "-n2")
        equal((done.returncode, len(done.stdout.splitlines())), (0, 2), "a count without a blank")
        done = proxy.command("tail", "static", "--json", "-n", "20", "--where", "status>=400")
        statuses = [json.loads(line)["status"] for line in done.stdout.splitlines()]
        equal(statuses, [404] * 4, "--where status>=400")
        done = proxy.command("tail", "--json", "-n", "20", "--where", "status=200", "--where",
                             "method=POST")
        equal(done.stdout.strip(), "", "two conditions mean and")
        done = proxy.command("tail", "-n", "1", "--as", "curl")
        again = subprocess.run(["sh", "-c", done.stdout.rstrip() + " -s -o /dev/null -w '%{http_code}'"],
                               capture_output=True, text=True, timeout=30)
        check("hello.txt" in done.stdout, f"--as curl: {done.stdout}")
        record = sorted(proxy.exchanges("static"), key=lambda record: record["time"])[-1]
        equal(again.stdout, str(record["status"]), f"the status of {done.stdout}")
        done = proxy.command("tail", "-n", "1", "--as", "curl-upstream")
        check("curl" in done.stdout and "hello.txt" in done.stdout, f"upstream: {done.stdout}")
        done = proxy.command("tail", "-n", "2", "--as", "har")
        equal(len(json.loads(done.stdout)["log"]["entries"]), 2, "--as har")


@case
def tail_follows(world):
    with static(world) as proxy:
        curl(proxy, proxy.url("/static/hello.txt"))
        output = os.path.join(proxy.directory, "follow")
        with open(output, "wb") as file:
            follower = subprocess.Popen(
                [world.netproxy, "tail", "-f", "--json", "--config", proxy.config_path],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                env=proxy.environment())
        try:
            def followed():
                # The follower can start late: keep sending requests until it shows one.
                word = world.unique("follow")
                curl(proxy, proxy.url("/static/hello.txt?" + word))
                line = proxy.exchange("static", word)
                deadline = time.monotonic() + 0.5
                while time.monotonic() < deadline:
                    with open(output, encoding="utf-8") as file:
                        if line["request_id"] in file.read():
                            return True
                    time.sleep(0.02)
                return False

            eventually(followed, "tail -f shows a new line")
        finally:
            follower.terminate()
            follower.wait(5)


@case
def a_sandbox_keeps_its_socket_when_the_daemon_restarts(world):
    """netproxy-agent.socket: systemd owns the socket, and a bind mount of its directory stays valid."""
    proxy = static(world)
    outside = os.path.join(proxy.directory, "netproxy-agent")
    inside = os.path.join(proxy.directory, "sandbox")
    os.mkdir(outside)
    os.mkdir(inside)
    proxy.config["listen"].append("systemd:agent")
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(socket.socket(socket.AF_UNIX))
        held.bind(os.path.join(outside, "agent.sock"))
        held.listen(64)
        proxy.sockets = [("agent", held)]
        sandbox = stack.enter_context(subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c",
             f"mount --bind {outside} {inside}; while read -r path; do "
             f"curl -sS -m 20 --unix-socket {inside}/agent.sock http://localhost$path; done"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

        def ask():
            sandbox.stdin.write("/static/hello.txt\n")
            sandbox.stdin.flush()
            return sandbox.stdout.readline()

        with proxy:
            equal(ask(), "hello from nginx\n", "before the restart")
            equal(proxy.stop(), 0, "the end of the first daemon")
            proxy.start()
            equal(ask(), "hello from nginx\n", "after the restart")
            # The request waits in the socket while no daemon runs.
            equal(proxy.stop(), 0, "the end of the second daemon")
            sandbox.stdin.write("/static/hello.txt\n")
            sandbox.stdin.flush()
            proxy.start()
            equal(sandbox.stdout.readline(), "hello from nginx\n", "asked without a daemon")
        sandbox.stdin.close()
        equal(sandbox.wait(20), 0, "the sandbox")


@case
def systemd_is_told(world):
    """sd_notify(3), with a watchdog whose interval is a fifth of a second."""
    proxy = static(world)
    path = os.path.join(proxy.directory, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(10)
        told = []

        def expect(*wanted):
            for _ in range(100):
                told.append(dict(line.split("=", 1)
                                 for line in manager.recv(4096).decode().splitlines()))
                if all(name in told[-1] for name in wanted):
                    return told[-1]
            raise Failure(f"never told {wanted}: {told[-5:]}")

        proxy.variables = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"}
        with proxy:
            equal(expect("READY")["STATUS"], "serving 1 channel", "the first status")
            for _ in range(3):
                expect("WATCHDOG")
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            proxy.child.signal(signal.SIGHUP)
            check(int(expect("RELOADING", "MONOTONIC_USEC")["MONOTONIC_USEC"]) >= began,
                  "the time of the reload")
            expect("READY", "STATUS")
            expect("WATCHDOG")
            # A stopped process does not respond to the watchdog.
            proxy.child.signal(signal.SIGSTOP)
            try:
                manager.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while manager.recv(4096):
                        pass
                manager.settimeout(1)
                manager.recv(4096)
                raise Failure("a stopped process told something")
            except TimeoutError:
                pass
            finally:
                manager.settimeout(10)
                proxy.child.signal(signal.SIGCONT)
            expect("WATCHDOG")
            proxy.child.signal(signal.SIGTERM)
            equal(expect("STOPPING")["STATUS"], "draining", "the last status")


@case
def status_and_token(world):
    client, word = world.auth.register(), world.unique("why")
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        curl(proxy, proxy.url("/orders/" + world.unique("first")))
        world.auth.revoke(client)
        curl(proxy, proxy.url("/orders/" + word))
        equal(proxy.exchange("orders", word)["retries"], ["unauthorized"], "retries in the log")
        done = proxy.command("status", "--json")
        equal(done.returncode, 0, f"exit code of status ({done.stderr})")
        check("orders" in json.dumps(json.loads(done.stdout)), "status does not name the channel")
        done = proxy.command("status")
        check(done.returncode == 0 and "orders" in done.stdout, f"status: {done.stdout}")
        mark = world.auth.mark()
        done = proxy.command("token", "orders", "--refresh")
        equal(done.returncode, 0, f"exit code of token --refresh ({done.stderr})")
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests of --refresh")
        done = proxy.command("version", config=False)
        check(done.returncode == 0 and "libevent" in done.stdout and "OpenSSL" in done.stdout,
              f"version: {done.stdout}")


# The numbers of a channel's requests, from three metrics, as parsed by the Prometheus client library.
PROMETHEUS = """
import sys
from prometheus_client.parser import text_string_to_metric_families
values = {sample.name: sample.value for family in text_string_to_metric_families(sys.argv[1])
          for sample in family.samples if sample.labels.get("channel") == "static"}
print(values["netproxy_requests_total"], values["netproxy_request_duration_seconds_count"],
      values["netproxy_upstream_first_byte_seconds_bucket"])
"""


@case
def admin_socket(world):
    with static(world) as proxy:
        curl(proxy, proxy.url("/static/hello.txt"))
        equal(admin(proxy, "/healthz").status, 200, "/healthz")
        equal(admin(proxy, "/readyz").status, 200, "/readyz")
        metrics = admin(proxy, "/metrics")
        equal(metrics.status, 200, "/metrics")
        read = run([world.python, "-c", PROMETHEUS, metrics.body.decode()]).decode().split()
        check([float(number) for number in read] == [1, 1, 1], f"what Prometheus' own client reads: {read}")
        proxy.outputs.append(("/metrics", metrics.body.decode()))
        status = admin(proxy, "/status")
        check(isinstance(json.loads(status.body), dict), "/status is no JSON object")
        proxy.outputs.append(("/status", status.body.decode()))
        answer = curl(proxy, proxy.url("/healthz"))
        equal(answer.status, 404, "/healthz on a data listener")


def in_flight(proxy):
    """Returns the number of upstream connections with a request in flight."""
    figures = admin(proxy, "/metrics").body.decode()
    count = {name: int(value) for name, value in re.findall(
        r"^netproxy_upstream_(connections|idle_connections){[^}]*} (\d+)$", figures, re.M)}
    return count["connections"] - count["idle_connections"]


@case
def sigterm_finishes_the_exchange_and_exits_0(world):
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        curl(proxy, proxy.url("/orders/" + world.unique("first")))
        word, answers = world.unique("drain"), []
        app = threading.Thread(target=lambda: answers.append(
            curl(proxy, proxy.url(f"/orders/slow?seconds=2&{word}"))))
        app.start()
        eventually(lambda: in_flight(proxy), "the request is on its way")
        started = time.monotonic()
        proxy.child.signal(signal.SIGTERM)
        status = proxy.child.wait(8)
        seconds = time.monotonic() - started
        app.join(10)
        equal(status, 0, f"exit status ({proxy.last_words()})")
        equal(answers[0].status, 200, f"status of the exchange in flight ({answers[0]})")
        check(seconds < 5, f"it took {seconds:.1f} s, longer than the exchange needed")
        equal(proxy.exchange("orders", "slow")["status"], 200, "status in the log")


@contextlib.contextmanager
def hanging(world, drain):
    """Yields a daemon that received SIGTERM while an exchange hangs; ends when the daemon and the client
    have ended."""
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}, drain=drain) as proxy:
        curl(proxy, proxy.url("/orders/" + world.unique("first")))
        app = threading.Thread(target=lambda: curl(proxy, proxy.url("/orders/slow?seconds=10")))
        app.start()
        eventually(lambda: in_flight(proxy), "the request is on its way")
        proxy.child.signal(signal.SIGTERM)
        yield proxy, time.monotonic()
        app.join(15)


@case
def sigterm_ends_within_drain_whatever_hangs(world):
    with hanging(world, "1s") as (proxy, started):
        equal(proxy.child.wait(6), 0, f"exit status ({proxy.last_words()})")
        seconds = time.monotonic() - started
        check(0.5 < seconds < 3, f"drain of 1 s took {seconds:.1f} s")


@contextlib.contextmanager
def running(proxy, **streams):
    """Yields a daemon with its own streams before it listens; stops it if it has not stopped."""
    proxy.write_config()
    with subprocess.Popen([proxy.world.netproxy, "run", "--config", proxy.config_path],
                          env=proxy.environment(), cwd=proxy.directory, stdin=subprocess.DEVNULL,
                          **streams) as daemon:
        try:
            yield daemon
        finally:
            daemon.kill()


@case
def sigterm_ends_a_start_that_reads_its_secrets(world):
    reader = world.path(world.unique("helper"))
    with open(reader, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho $$ > {reader}.pid\nexec sleep 30\n")
    os.chmod(reader, 0o755)
    channel = world.channel("/files") | {"auth": {"bearer": "exec:" + reader}}
    proxy = Netproxy(world, {"files": channel})
    with running(proxy, stderr=subprocess.DEVNULL) as daemon:
        eventually(lambda: os.path.exists(reader + ".pid") and os.path.getsize(reader + ".pid"),
                   "the helper runs")
        daemon.send_signal(signal.SIGTERM)
        equal(daemon.wait(6), 0, "exit status")
    with open(reader + ".pid", encoding="utf-8") as file:
        helper = file.read().strip()
    eventually(lambda: not os.path.exists("/proc/" + helper), "the helper has ended")


@case
def readers_that_do_not_read_stop_nothing(world):
    """A terminal and a service manager, each with its buffers full."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    proxy = Netproxy(world, {"files": world.channel("/files")})
    proxy.variables["NOTIFY_SOCKET"] = os.path.join(proxy.directory, "notify.sock")
    manager.bind(proxy.variables["NOTIFY_SOCKET"])
    reader, terminal = pty.openpty()
    with running(proxy, stdout=terminal, stderr=terminal) as daemon:
        eventually(lambda: accepts(proxy.port), "netproxy listens")
        app = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        for number in range(600):
            if number % 30 == 0:
                daemon.send_signal(signal.SIGHUP)
            app.request("GET", "/files/" + "x" * 200)
            app.getresponse().read()
        app.close()
        equal(proxy.command("reload").returncode, 0, "reload")
        equal(proxy.command("status").returncode, 0, "status")
        daemon.send_signal(signal.SIGTERM)
        equal(daemon.wait(12), 0, "exit status")
    os.close(reader)
    os.close(terminal)
    manager.close()


@case
def a_second_signal_ends_the_drain(world):
    with hanging(world, "1m") as (proxy, started):
        eventually(lambda: "stopping: " in proxy.child.stderr(), "the first signal is told")
        proxy.child.signal(signal.SIGINT)
        equal(proxy.child.wait(6), 0, f"exit status ({proxy.last_words()})")
        seconds = time.monotonic() - started
        check(seconds < 4, f"it took {seconds:.1f} s")
        equal(proxy.exchange("orders", "slow")["error"], "http_response_timeout", "the log's word")


def client_seen(world, proxy):
    word = world.unique("reload")
    answer = curl(proxy, proxy.url("/static/hello.txt?" + word))
    return answer.status, world.arrived(word)[0]["x_client"] if answer.status == 200 else ""


@case
def sighup_reloads_and_a_broken_file_changes_nothing(world):
    channel = world.channel("/files", headers={"set": {"X-Client": "before"}})
    with Netproxy(world, {"static": channel}) as proxy:
        equal(client_seen(world, proxy), (200, "before"), "before the reload")
        proxy.write_config("channels: { static: { upstream: 17, nonsense: true } }\n")
        length = len(proxy.child.stderr())
        proxy.child.signal(signal.SIGHUP)
        eventually(lambda: "nonsense" in proxy.child.stderr()[length:],
                   "the broken file is reported on standard error", 5)
        equal(client_seen(world, proxy), (200, "before"), "after a broken file")
        done = proxy.command("reload")
        check(done.returncode != 0, "netproxy reload accepts a broken file")
        channel["headers"]["set"]["X-Client"] = "after"
        proxy.write_config()
        proxy.child.signal(signal.SIGHUP)
        eventually(lambda: client_seen(world, proxy) == (200, "after"), "the new header arrives")
        channel["headers"]["set"]["X-Client"] = "by-command"
        proxy.write_config()
        done = proxy.command("reload", "--plan")
        check(done.returncode == 0 and "static" in done.stdout, f"reload --plan: {done.stdout}")
        equal(client_seen(world, proxy), (200, "after"), "after --plan")
        equal(proxy.command("reload").returncode, 0, "exit code of reload")
        # The command is synchronous: the next request already uses the new configuration.
        equal(client_seen(world, proxy), (200, "by-command"), "after netproxy reload")


@case
def reload_under_load_fails_no_request(world):
    from traffic import storm

    with static(world) as proxy:
        stop = threading.Event()

        def reload():
            while not stop.wait(0.1):
                proxy.child.signal(signal.SIGHUP)

        reloader = threading.Thread(target=reload)
        reloader.start()
        try:
            seen = storm(proxy.port, "/static/hello.txt", total=3000, in_flight=16)
        finally:
            stop.set()
            reloader.join()
        equal(seen, {200: 3000}, "statuses while reloading ten times a second")


@case
def sigusr1_reopens_the_logs(world):
    with static(world) as proxy:
        word = world.unique("rotate")
        curl(proxy, proxy.url(f"/static/hello.txt?{word}"))
        proxy.exchange("static", word)
        path = proxy.log_path("static")
        os.rename(path, path + ".moved")
        proxy.child.signal(signal.SIGUSR1)

        def reopened():
            curl(proxy, proxy.url("/static/hello.txt?" + world.unique("rotated")))
            return proxy.exchanges("static")

        eventually(reopened, "a new static.log after SIGUSR1", 5)
        with open(path + ".moved", encoding="utf-8") as file:
            check(word in file.read(), "the moved file lost its line")


@case
def a_unix_socket_listener(world):
    proxy = static(world)
    path = os.path.join(proxy.directory, "data.sock")
    proxy.config["listen"].append("unix:" + path)
    with proxy:
        eventually(lambda: os.path.exists(path), "the socket exists", 5)
        word = world.unique("unix")
        answer = curl(proxy, "--unix-socket", path, f"http://localhost/static/hello.txt?{word}")
        equal((answer.status, answer.body), (200, b"hello from nginx\n"), f"over unix ({answer})")
        line = proxy.exchange("static", word)
        equal((line["client"], line["client_uid"]), ("unix", os.getuid()), "peer in the log")
