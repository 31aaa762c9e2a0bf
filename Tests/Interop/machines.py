"""Daemons on separate machines whose tokens are in etcd."""

import asyncio
import base64
import os
import re
import shutil
import signal
import socket

from endpoint import ACCESS, CLIENT_SECRET, REFRESH
from fleet import Mortal
from harness import Child, Skipped, accepts, check, eventually
from relay import Valve
from world import HERE, run

PREFIX = "/netproxy/"
RECORD, LOCK = PREFIX + "orders/record", PREFIX + "orders/lock"


def new_state_key(world):
    """Creates a file with a new key for the stored data."""
    path = world.path(world.unique("state-key"))
    with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(base64.b64encode(os.urandom(32)) + b"\n")
    return path


def state_in(cluster, **keys):
    """Returns the configuration's `state`."""
    document = {"endpoints": cluster.endpoints}
    if cluster.tls:
        certificate, key = cluster.certificates.client
        document |= {"ca": cluster.certificates.ca, "client_certificate": certificate,
                     "client_key": key}
    return {"etcd": {**document, **keys}}


def can_shift_clocks():
    """Whether programs can run with a shifted clock here."""
    return shutil.which("clang") is not None


def clock_off_by(seconds, world):
    """Returns the environment of a program with a shifted time of day; its monotonic clock is correct."""
    if not can_shift_clocks():
        raise Skipped("clang is not installed")
    library = world.path("clock.so")
    if not os.path.exists(library):
        run(["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library,
             os.path.join(HERE, "clock.c")])
    return {"LD_PRELOAD": library, "CLOCK_SHIFT": str(seconds)}


class Machine(Mortal):
    """A daemon with one sign-in in etcd.

    With `relays` it reaches each member through its own relay; with `place` it runs in a network namespace.
    Both can be disconnected. Its clock is `clock` seconds fast.
    """

    def __init__(self, world, endpoint, cluster, state_key, relays=None, place=None, clock=0,
                 etcd=None, **keys):
        self.cluster, self.place, self.clock = cluster, place, clock
        self.valve = Valve(relays) if relays else None
        ways = [relays.add(each.address, each.port, self.valve)
                for each in (cluster.members if relays else ())]
        endpoints = [f"{cluster.scheme}://127.0.0.1:{way.port}" for way in ways]
        if endpoints:
            etcd = {"endpoints": endpoints, **(etcd or {})}
        super().__init__(world, endpoint, state=state_in(cluster, **(etcd or {})),
                         state_key=key_setting(state_key), workers=1, busy_poll="off", **keys)

    def environment(self):
        shift = clock_off_by(self.clock, self.world) if self.clock else {}
        return super().environment() | shift

    def start(self):
        self.write_config()
        command = [self.world.netproxy, "run", "--config", self.config_path]
        if self.place:
            command = [*self.place.prefix, *command]
        self.child = Child(command, self.directory, "netproxy", self.environment())
        is_there = self.place.accepts if self.place else accepts
        eventually(lambda: not self.child.running() or is_there(self.port),
                   "the daemon listens", 20)
        check(self.child.running(), f"the daemon ended: {self.last_words()}")

    async def connect(self):
        if not self.place:
            return await super().connect()
        connection = await asyncio.to_thread(self.place.socket)
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=connection)

    # Faults.

    def pause(self):
        self.child.signal(signal.SIGSTOP)

    def resume(self):
        self.child.signal(signal.SIGCONT)

    def cut(self):
        """Disconnects it from all members, but not from clients and the token endpoint."""
        if self.place:
            self.place.cut()
        else:
            self.valve.cut()

    def heal(self, is_late=True):
        """Ends the disconnection; bytes sent in the meantime arrive late, or never."""
        if self.place:
            self.place.heal()
        else:
            self.valve.heal(is_late)


def key_setting(paths):
    """Returns the configuration's `state_key` for one or several files."""
    return "file:" + paths if isinstance(paths, str) else ["file:" + path for path in paths]


def readable(value):
    """Returns the secrets that are readable in a value, in plain text or base64."""
    texts = [value]
    for word in re.findall(rb"[A-Za-z0-9+/_-]{16,}", value):
        for alphabet in (b"+/", b"-_"):
            try:
                padded = word + b"=" * (-len(word) % 4)
                texts.append(base64.b64decode(padded, altchars=alphabet))
            except ValueError:
                continue
    secrets = (ACCESS, REFRESH, CLIENT_SECRET)
    return [secret for secret in secrets if any(secret.encode() in text for text in texts)]


def expect_nothing_readable(cluster):
    """Fails if a secret is readable in etcd. Returns the stored values."""
    values = cluster.values("/")
    for key, value in values.items():
        found = readable(value)
        check(not found, f"{key} shows {found}")
    return values
