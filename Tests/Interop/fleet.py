"""Daemons that share a state directory, are killed and come back, and a client that loads them."""

import asyncio
import os
import signal
import time

from endpoint import CLIENT_SECRET, REFRESH
from harness import Failure, check
from proxy import Netproxy
from tracing import attach


def grant_of(endpoint, world):
    """A sign-in whose refresh token the endpoint rotates."""
    return {
        "grant": "refresh_token",
        "token_url": endpoint.base + "/token",
        "client_id": "app",
        "client_secret": "file:" + world.secret_file(CLIENT_SECRET),
        "refresh_token": "file:" + world.secret_file(REFRESH + "first"),
    }


def channel_to(endpoint, world):
    """A channel to the endpoint's API."""
    return {**api_of(endpoint), "auth": {"oauth": grant_of(endpoint, world)}}


def api_of(endpoint):
    """The upstream of a channel; the API never takes long, so what hangs shows where."""
    return {"upstream": endpoint.base + "/api", "timeouts": {"response": "20s"}}


def identity_of(endpoint, world):
    """Two channels to the endpoint's API with one sign-in, of which one asks for less."""
    channels = {
        "orders": {**api_of(endpoint), "auth": {"identity": "orders"}},
        "bills": {**api_of(endpoint), "auth": {"identity": "orders", "audience": "bills"}},
    }
    return channels, {"orders": {"oauth": grant_of(endpoint, world)}}


class Mortal(Netproxy):
    """A daemon that may be killed; on the same state directory as others, if one is named."""

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
        """SIGKILL, and waits for the end."""
        self.deaths.append(time.monotonic())
        self.child.signal(signal.SIGKILL)
        self.expect_killed()

    def expect_killed(self):
        status = self.child.wait(20)
        check(status == -signal.SIGKILL, f"the daemon ended with {status}: {self.last_words()}")

    def kill_at(self, system_call, path=None):
        """From now on the daemon is killed when it enters the system call (on the path, if one is
        given), which then does not happen."""
        calls = {"rename": "rename,renameat,renameat2"}.get(system_call, system_call)
        attach(self, calls, "error=EIO:signal=KILL", path)

    async def connect(self):
        """A connection of an app."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    def token_file(self):
        return os.path.join(self.state, "orders.json")


class Load:
    """Requests over kept-alive connections, each to a daemon that is up, until told to stop.

    A request that gets no whole answer is `in flight on a killed daemon` when its daemon was killed
    after the request had been given to it; everything else but 200 is a failure, and so is every
    request that was in flight for longer than `LONGEST`.
    """

    # 15 s for a token, and what a stopped daemon sleeps.
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
        """One connection's worth of requests."""
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
        """Takes the outcome of a request into account."""
        seconds = time.monotonic() - began
        self.slowest = max(self.slowest, seconds)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status != 200:
            self.failures.append(f"{status} after {seconds:.1f} s: {text}")

    async def exchange(self, reader, writer, daemon, turn):
        """A GET, or a POST of a few bytes; returns status and body."""
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
        """Runs the load for as long as the coroutine takes."""
        workers = [asyncio.create_task(self.run(each)) for each in range(self.connections)]
        try:
            await script
        finally:
            self.is_over = True
            await asyncio.wait_for(asyncio.gather(*workers), 60)
