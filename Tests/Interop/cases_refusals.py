"""A system that refuses: no descriptors, no watches, no threads, a failing disk."""

import glob
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from cases_admin import admin
from cases_crash import get
from endpoint import REFRESH, Endpoint
from fleet import Mortal, channel_to
from harness import Skipped, case, check, equal, eventually
from proxy import Netproxy
from tracing import Delayed, Refused
from traffic import curl


def stored_token(daemon):
    with open(daemon.token_file(), encoding="utf-8") as file:
        return json.load(file)["refresh_token"].removeprefix(REFRESH)


def refresh(daemon):
    done = daemon.command("token", "orders", "--refresh")
    equal(done.returncode, 0, f"netproxy token --refresh ({done.stderr})")


@case
def a_token_file_that_cannot_be_read_any_more_presents_nothing(world):
    """Another daemon could have presented the token meanwhile, so nothing is presented until the file can be
    read again."""
    with Endpoint() as endpoint:
        with Mortal(world, endpoint) as daemon:
            refresh(daemon)
            before = endpoint.current
            with Refused(daemon, "read", "EIO", daemon.token_file()) as fault:
                done = daemon.command("token", "orders", "--refresh")
                check(done.returncode != 0 and "Input/output error" in done.stderr, done.stderr)
                check(fault.was_hit(), "the token file was not read")
                equal(endpoint.current, before, "the token that the server expects")
            refresh(daemon)
            newest = endpoint.current.removeprefix(REFRESH)
            equal(stored_token(daemon), newest, "refresh token in the file")
        outcomes = endpoint.outcomes()
        equal(set(outcomes), {"rotated"}, "token requests")
        daemon.start()
        try:
            refresh(daemon)
        finally:
            equal(daemon.stop(), 0, "exit code")
        equal(set(endpoint.outcomes()), {"rotated"}, "token requests in the end")


@case
def a_slow_disk_delays_no_other_request(world):
    """Tokens of more channels than processors are renewed after 401s and stored on a slow disk. The same
    loop serves another channel and the admin socket meanwhile."""
    count = os.cpu_count() + 2
    with Endpoint() as endpoint, Mortal(world, endpoint, workers=1) as daemon, \
            ThreadPoolExecutor(count) as apps:
        names = [f"own-{number}" for number in range(count)]
        grant = {"grant": "client_credentials"}
        for name in names:
            channel = channel_to(endpoint, world)
            channel["auth"]["oauth"] = {
                key: value for key, value in channel["auth"]["oauth"].items()
                if key != "refresh_token"} | grant
            daemon.config["channels"][name] = channel
        daemon.config["channels"]["files"] = world.channel("/files")
        daemon.write_config()
        equal(daemon.command("reload").returncode, 0, "reload")
        for name in names:
            equal(get(daemon, f"/{name}/1").status, 200, f"status of {name}")
        with Delayed(daemon, "fsync", seconds=2):
            endpoint.revoke()
            renewing = [apps.submit(get, daemon, f"/{name}/2") for name in names]
            times = []
            while not all(each.done() for each in renewing):
                for answer in (curl(daemon, daemon.url("/files/hello.txt")),
                               admin(daemon, "/healthz"), admin(daemon, "/metrics")):
                    equal(answer.status, 200, f"status of the other ({answer})")
                    times.append(answer.seconds)
            for each in renewing:
                equal(each.result().status, 200, "status with the new token")
        check(max(times) < 1.5, f"a request waited {max(times):.1f} s for the disk")
        check(len(times) >= 10, f"only {len(times)} requests in the time")


@case
def connections_that_have_to_wait_are_told(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        with Refused(proxy, "accept4", "EMFILE"):
            waiting = subprocess.Popen(
                ["curl", "-sS", "-o", os.devnull, "-w", "%{http_code}", "--max-time", "30",
                 proxy.url("/orders/hello.txt")], stdout=subprocess.PIPE, text=True)
            eventually(lambda: "new connections wait: Too many open files" in proxy.child.stderr(),
                       "the report", 15)
            check("LimitNOFILE=" in proxy.child.stderr(), "no advice")
        equal(waiting.communicate(timeout=40)[0], "200", "status of the one that waited")
        lines = [line for line in proxy.child.stderr().splitlines() if "connections wait" in line]
        equal(len(lines), 1, "lines about it")


@case
def a_connection_that_cannot_be_watched_ends_and_the_next_is_served(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        with Refused(proxy, "epoll_ctl", "ENOSPC") as fault:
            curl(proxy, "--max-time", "2", proxy.url("/orders/hello.txt"))
            check(fault.was_hit(), "nothing was to be watched")
        answer = curl(proxy, proxy.url("/orders/hello.txt"))
        equal(answer.status, 200, f"status behind it ({answer})")


def older_logs(proxy):
    """Returns the beginnings of the rotated log files, the newest first."""
    texts = []
    for path in sorted(glob.glob(proxy.log_path("orders") + ".*")):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read(5))
    return texts


@case
def a_rotation_that_cannot_finish_keeps_the_older_files(world):
    proxy = Netproxy(world, {"orders": world.channel("/files")})
    proxy.config["log"]["rotate"] = {"size": "64KiB", "keep": 3}
    os.makedirs(proxy.log_directory)
    for number in range(1, 4):
        with open(f"{proxy.log_path('orders')}.{number}", "w", encoding="utf-8") as file:
            file.write(f"old {number}\n")
    target = "/orders/hello.txt?" + "x" * 4000

    def ask():
        equal(curl(proxy, proxy.url(target)).status, 200, "status")

    with proxy:
        with Refused(proxy, "rename", "EBUSY", proxy.log_path("orders")) as fault:
            eventually(lambda: (ask(), fault.was_hit())[1], "a rotation that is refused", 60)
            for _ in range(5):
                ask()
            # The oldest file can have been removed for a file that was not created.
            check({"old 1", "old 2"} <= set(older_logs(proxy)), f"left: {older_logs(proxy)}")
        eventually(lambda: (ask(), older_logs(proxy)[0])[1] != "old 1", "the rotation behind it", 60)
        check("old 1" in older_logs(proxy), f"left in the end: {older_logs(proxy)}")


def traced_command(proxy, fault, *arguments, path=None):
    """Runs one of netproxy's commands with a fault from its beginning to its end."""
    if not shutil.which("strace"):
        raise Skipped("strace is not installed")
    call = fault.partition(":")[0]
    only = ["-P", path] if path else []
    return subprocess.run(
        ["strace", "-f", "-qq", "-o", os.devnull, *only, "-e", f"trace={call}",
         "-e", f"inject={fault}", proxy.world.netproxy, *arguments, "--config",
         proxy.config_path],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env=proxy.environment(), cwd=proxy.directory)


@case
def a_command_without_its_thread_says_so(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        words = []
        # The runtime starts its own threads, so the owner of a thread is unknown.
        for number in range(1, 7):
            done = traced_command(proxy, f"clone3:error=EAGAIN:when={number}", "status")
            check(done.returncode in (0, 69), f"exit code {done.returncode} ({done.stderr})")
            words.append(done.stderr)
        check(any("cannot start a thread" in text for text in words), f"said: {words}")


@case
def tail_says_when_a_directory_cannot_be_read(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        curl(proxy, proxy.url("/orders/hello.txt"))
        done = traced_command(proxy, "getdents64:error=EIO", "tail", path=proxy.log_directory)
        equal(done.returncode, 1, f"exit code ({done.stderr})")
        check("Input/output error" in done.stderr, f"standard error: {done.stderr}")
        check(proxy.log_directory in done.stderr, f"no name: {done.stderr}")
