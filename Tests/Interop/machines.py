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
from harness import Child, Skipped, check, eventually

PREFIX = "/netproxy/"
RECORD, LOCK = PREFIX + "orders/record", PREFIX + "orders/lock"


def new_state_key(world):
    """A file with a key of its own for what is stored."""
    path = world.path(world.unique("state-key"))
    with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(base64.b64encode(os.urandom(32)) + b"\n")
    return path


def state_in(cluster, endpoints=None, **keys):
    """The configuration's `state`."""
    document = {"endpoints": endpoints or cluster.endpoints}
    if cluster.tls:
        certificate, key = cluster.certificates.client
        document |= {"ca": cluster.certificates.ca, "client_certificate": certificate,
                     "client_key": key}
    return {"etcd": {**document, **keys}}


def clock_off_by(shift):
    """The environment of a program whose clock is off, such as by `+1h`; intervals stay right."""
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not found:
        raise Skipped("libfaketime is not installed (Debian: faketime)")
    return {"LD_PRELOAD": found[0], "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1"}


class Machine(Mortal):
    """A daemon with one sign-in in etcd.

    With `relays` it reaches each member through a relay of its own; with `place` it runs in a
    network namespace. Both can be cut.
    """

    def __init__(self, world, endpoint, cluster, state_key, relays=None, place=None, etcd=None,
                 **keys):
        self.cluster, self.place = cluster, place
        self.ways = [relays.add(each.address, each.port) for each in cluster.members
                     ] if relays else []
        endpoints = [f"{cluster.scheme}://127.0.0.1:{way.port}" for way in self.ways]
        super().__init__(world, endpoint, state=state_in(cluster, endpoints, **etcd or {}),
                         state_key=key_setting(state_key), workers=1, **keys)

    def start(self):
        if not self.place:
            return super().start()
        self.write_config()
        command = [*self.place.prefix, self.world.netproxy, "run", "--config", self.config_path]
        self.child = Child(command, self.directory, "netproxy", self.environment())
        eventually(lambda: not self.child.running() or self.place.accepts(self.port),
                   "the daemon listens in its namespace", 20)
        check(self.child.running(), f"the daemon ended: {self.last_words()}")

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
        for way in self.ways:
            way.cut()

    def heal(self, is_late=True):
        """Ends the cut; what was sent in the meantime arrives late, or never."""
        if self.place:
            self.place.heal()
        for way in self.ways:
            way.heal(is_late)


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
