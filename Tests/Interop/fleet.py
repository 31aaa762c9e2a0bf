"""Daemons that share a state directory, are killed and restarted, and a client that loads them."""

import asyncio
import os
import signal
import time

from endpoint import CLIENT_SECRET, REFRESH
from harness import Failure, check
from proxy import Netproxy
from tracing import attach


def grant_of(endpoint, world):
    """Returns a sign-in whose refresh token the endpoint rotates."""
    return {
        "grant": "refresh_token",
        "token_url": endpoint.base + "/token",
        "client_id": "app",
        "client_secret": "file:" + world.secret_file(CLIENT_SECRET),
        "refresh_token": "file:" + world.secret_file(REFRESH + "first"),
    }


def channel_to(endpoint, world):
    """Returns a channel to the endpoint's API."""
    return {**api_of(endpoint), "auth": {"oauth": grant_of(endpoint, world)}}


def api_of(endpoint):
    """Returns the upstream of a channel; the API responds quickly, so a delay has another cause."""
    return {"upstream": endpoint.base + "/api", "timeouts": {"response": "20s"}}


def identity_of(endpoint, world):
    """Returns two channels to the endpoint's API with one sign-in; one has fewer scopes."""
    channels = {
        "orders": {**api_of(endpoint), "auth": {"identity": "orders"}},
        "bills": {**api_of(endpoint), "auth": {"identity": "orders", "audience": "bills"}},
    }
    return channels, {"orders": {"oauth": grant_of(endpoint, world)}}


class Mortal(Netproxy):
    """A daemon that can be killed; if a state directory is given, it shares it with others."""

    def __init__(self, world, endpoint, state=None, is_shared=False, **keys):
        if state:
            keys["state"] = state
        self.paths = ["/orders", "/bills"] if is_shared else ["/orders"]
        channels = {"orders": channel_to(endpoint, world)}
        if is_shared:
            channels, keys["identities"] = identity_of(endpoint, world)
        super().__init__(world, channels, **keys)
        self.secret_sources.append(endpoint)
        self.state = self.config["state"]
        self.deaths = []

    def kill(self):
        """Sends SIGKILL and waits for the end."""
        self.deaths.append(time.monotonic())
        self.child.signal(signal.SIGKILL)
        self.expect_killed()

    def expect_killed(self):
        status = self.child.wait(20)
        check(status == -signal.SIGKILL, f"the daemon ended with {status}: {self.last_words()}")

    def kill_at(self, system_call, path=None):
        """From now on, kills the daemon when it enters the system call (for the path, if given). The call
        is not executed."""
        calls = {"rename": "rename,renameat,renameat2"}.get(system_call, system_call)
        attach(self, calls, "error=EIO:signal=KILL", path)

    async def connect(self):
        """Opens a client connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    def token_file(self):
        return os.path.join(self.state, "orders.json")


class Load:
    """Requests over kept-alive connections, each to a running daemon, until stopped.

    A request without a complete response is `in flight on a killed daemon` if its daemon was killed after the
    request had been sent to it. Every other result except 200 is a failure, and so is every request that was
    in flight for longer than `LONGEST`.
    """

    # 15 s for a token, plus the pause of a stopped daemon.
    LONGEST = 30

    def __init__(self, daemons, connections=8, pause=0.0):
        self.daemons, self.connections, self.pause = daemons, connections, pause
        self.up = set(daemons)
        self.statuses = {}
        self.in_flight_on_killed = 0
        self.failures = []
        self.slowest = 0.0
        self.is_over = False

    @property
    def total(self):
        return sum(self.statuses.values()) + self.in_flight_on_killed

    async def run(self, number):
        """Sends requests over one connection."""
        links = {}
        turn = number
        while not self.is_over:
            await asyncio.sleep(self.pause)
            daemons = sorted(self.up, key=lambda daemon: daemon.port)
            if not daemons:
                await asyncio.sleep(0.02)
                continue
            turn += 1
            daemon = daemons[turn % len(daemons)]
            life = (daemon, len(daemon.deaths))
            began = time.monotonic()
            try:
                if life not in links:
                    links[life] = await daemon.connect()
                status, text = await self.exchange(*links[life], daemon, turn)
            except (OSError, EOFError) as fault:
                links.pop(life, None)
                if len(daemon.deaths) > life[1] and time.monotonic() - began < self.LONGEST:
                    self.in_flight_on_killed += 1
                    continue
                status, text = type(fault).__name__, str(fault)
            self.note(daemon, began, status, text)
        for _, writer in links.values():
            writer.close()

    def note(self, daemon, began, status, text):
        """Records the outcome of a request."""
        seconds = time.monotonic() - began
        self.slowest = max(self.slowest, seconds)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status != 200:
            self.failures.append(f"{status} after {seconds:.1f} s: {text}")

    async def exchange(self, reader, writer, daemon, turn):
        """Sends a GET, or a POST of a few bytes; returns status and body."""
        body = b"" if turn % 2 else b"x" * 200
        path = daemon.paths[turn // 2 % len(daemon.paths)]
        head = f"{'POST' if body else 'GET'} {path}/{turn} HTTP/1.1\r\nHost: localhost\r\n"
        writer.write((head + f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 40)
        fields = answer.decode("latin-1").lower().split("\r\n")
        length = next((line for line in fields if line.startswith("content-length:")), ":0")
        text = await asyncio.wait_for(reader.readexactly(int(length.split(":")[1])), 40)
        if "connection: close" in fields:
            raise Failure("netproxy closes a connection that it need not close")
        return int(fields[0].split()[1]), text.decode(errors="replace")

    async def during(self, script):
        """Runs the load until the coroutine ends."""
        workers = [asyncio.create_task(self.run(each)) for each in range(self.connections)]
        try:
            await script
        finally:
            self.is_over = True
            await asyncio.wait_for(asyncio.gather(*workers), 60)
