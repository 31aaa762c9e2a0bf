"""Daemons on machines of their own whose tokens are in etcd."""

import asyncio
import base64
import glob
import os
import re
import signal
import socket

from endpoint import ACCESS, CLIENT_SECRET, REFRESH
from fleet import Mortal
from harness import Child, Skipped, accepts, check, eventually
from relay import Valve

PREFIX = "/netproxy/"
RECORD, LOCK = PREFIX + "orders/record", PREFIX + "orders/lock"


def new_state_key(world):
    """A file with a key of its own for what is stored."""
    path = world.path(world.unique("state-key"))
    with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(base64.b64encode(os.urandom(32)) + b"\n")
    return path


def state_in(cluster, **keys):
    """The configuration's `state`."""
    document = {"endpoints": cluster.endpoints}
    if cluster.tls:
        certificate, key = cluster.certificates.client
        document |= {"ca": cluster.certificates.ca, "client_certificate": certificate,
                     "client_key": key}
    return {"etcd": {**document, **keys}}


def fake_clock():
    """libfaketime; `None` if it is not installed (Debian: faketime)."""
    return next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)


def clock_off_by(shift):
    """The environment of a program whose clock is off, such as by `+1h`; intervals stay right."""
    if not fake_clock():
        raise Skipped("libfaketime is not installed (Debian: faketime)")
    return {"LD_PRELOAD": fake_clock(), "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1"}


class Machine(Mortal):
    """A daemon with one sign-in in etcd.

    With `relays` it reaches each member through a relay of its own; with `place` it runs in a
    network namespace. Both can be cut. With `clock`, such as `+1h`, its clock is off.
    """

    def __init__(self, world, endpoint, cluster, state_key, relays=None, place=None, clock=None,
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

    def start(self):
        self.write_config()
        command = [self.world.netproxy, "run", "--config", self.config_path]
        environment = self.environment()
        if self.clock:
            # libfaketime sets a variable when it is loaded, after which Swift does not find its
            # arguments. The shell has it set before.
            command = ["sh", "-c", 'exec "$@"', "sh", *command]
            environment |= clock_off_by(self.clock)
        if self.place:
            command = [*self.place.prefix, *command]
        self.child = Child(command, self.directory, "netproxy", environment)
        is_there = self.place.accepts if self.place else accepts
        eventually(lambda: not self.child.running() or is_there(self.port),
                   "the daemon listens", 20)
        check(self.child.running(), f"the daemon ended: {self.last_words()}")

    def kill(self):
        super().kill()
        self.remove_clock()

    def stop(self, seconds=12.0):
        status = super().stop(seconds)
        self.remove_clock()
        return status

    def remove_clock(self):
        """Removes what libfaketime leaves in shared memory."""
        for path in glob.glob(f"/dev/shm/*faketime_*_{self.child.pid}"):
            os.remove(path)

    async def connect(self):
        if not self.place:
            return await super().connect()
        connection = await asyncio.to_thread(self.place.socket)
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=connection)

    # What can happen to it.

    def pause(self):
        self.child.signal(signal.SIGSTOP)

    def resume(self):
        self.child.signal(signal.SIGCONT)

    def cut(self):
        """Cuts it off from all members, but not from apps and the token endpoint."""
        if self.place:
            self.place.cut()
        else:
            self.valve.cut()

    def heal(self, is_late=True):
        """Ends the cut; what was sent in the meantime arrives late, or never."""
        if self.place:
            self.place.heal()
        else:
            self.valve.heal(is_late)


def key_setting(paths):
    """The configuration's `state_key` of one file or of several."""
    return "file:" + paths if isinstance(paths, str) else ["file:" + path for path in paths]


def readable(value):
    """The secrets that can be read in a value, as it is or where it is base64."""
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
    """Fails when a secret can be read in etcd. Returns what is stored."""
    values = cluster.values("/")
    for key, value in values.items():
        found = readable(value)
        check(not found, f"{key} shows {found}")
    return values
