"""Network namespaces connected by a bridge, and real partitions between them. Requires root.

A program in a namespace reaches the others through a veth pair. A partition is a rule that silently drops
packets, or a link that is down; connections stay open, and their bytes arrive late.
"""

import atexit
import ctypes
import os
import random
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness import Failure, Skipped
from world import run

CLONE_NEWNET = 0x40000000
# Reserved for network tests (RFC 2544): no real network has these addresses.
SUBNETS = "198.18.{}"


def is_possible():
    """Whether this process can create namespaces and drop packets in them."""
    programs = all(shutil.which(name) for name in ("ip", "iptables"))
    return programs and os.geteuid() == 0 and os.path.isdir("/sys/class/net")


class Network:
    """A bridge with namespaces. Removes them all at the end of the context, and at exit."""

    def __init__(self):
        if not is_possible():
            raise Skipped("namespaces need root, iproute2 and iptables")
        remove_what_the_dead_left()
        self.subnet = free_subnet()
        self.bridge = f"npb{os.getpid()}"
        self.places = []
        atexit.register(self.close)
        try:
            run(["ip", "link", "add", self.bridge, "type", "bridge"])
            run(["ip", "address", "add", f"{self.subnet}.1/24", "dev", self.bridge])
            run(["ip", "link", "set", self.bridge, "up"])
        except Failure as failure:
            self.close()
            raise Skipped(f"no bridge can be made here: {failure}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self):
        """Adds a namespace."""
        place = Namespace(self, len(self.places) + 1)
        self.places.append(place)
        place.make()
        return place

    def close(self):
        atexit.unregister(self.close)
        for place in self.places:
            place.remove()
        self.places = []
        attempt(["ip", "link", "delete", self.bridge])


class Namespace:
    """A namespace with one interface to the bridge and its own loopback interface."""

    def __init__(self, network, number):
        self.network = network
        self.name = f"netproxy-{os.getpid()}-{number}"
        self.link = f"npv{os.getpid()}n{number}"
        self.address = f"{network.subnet}.{number + 1}"
        # The command that runs a program in it; the program keeps the process ID.
        self.prefix = ["ip", "netns", "exec", self.name]
        self.inside = None

    def make(self):
        run(["ip", "netns", "add", self.name])
        run(["ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0",
             "netns", self.name])
        run(["ip", "link", "set", self.link, "master", self.network.bridge, "up"])
        run([*self.prefix, "ip", "address", "add", self.address + "/24", "dev", "eth0"])
        for link in ("lo", "eth0"):
            run([*self.prefix, "ip", "link", "set", link, "up"])
        self.inside = ThreadPoolExecutor(1, initializer=enter, initargs=(self.name,))

    def socket(self):
        """Returns a TCP socket of the namespace, which can be used anywhere."""
        return self.inside.submit(socket.socket).result(10)

    def listener(self, port):
        """Returns a listening socket on the namespace's own loopback."""
        return self.inside.submit(socket.create_server, ("127.0.0.1", port), backlog=512).result(10)

    def accepts(self, port):
        """Whether something listens on the namespace's own loopback."""
        with self.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def cut(self, addresses=None):
        """Drops the packets from and to the addresses; by default all except loopback."""
        for chain, side, interface in (("INPUT", "-s", "-i"), ("OUTPUT", "-d", "-o")):
            for address in addresses or ["0.0.0.0/0"]:
                run([*self.prefix, "iptables", "-w", "-A", chain, interface, "eth0",
                     side, address, "-j", "DROP"])

    def take_down(self):
        """Takes the link down at the bridge, without notifying the namespace."""
        run(["ip", "link", "set", self.link, "down"])

    def heal(self):
        run([*self.prefix, "iptables", "-w", "-F"])
        run(["ip", "link", "set", self.link, "up"])

    def remove(self):
        if self.inside:
            self.inside.shutdown()
        # The other end is removed with the namespace, unless a process is still in it.
        attempt(["ip", "link", "delete", self.link])
        attempt(["ip", "netns", "delete", self.name])


def enter(name):
    """Moves the calling thread into the namespace."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if library.setns(descriptor, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {name}")
    finally:
        os.close(descriptor)


def attempt(command):
    """Runs a command that may fail."""
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=20, check=False)


def free_subnet():
    """Returns a /24 for tests that has no route."""
    routes = run(["ip", "route", "show"]).decode()
    for number in random.sample(range(256), 256):
        subnet = SUBNETS.format(number)
        if subnet + "." not in routes:
            return subnet
    raise Failure("no free subnet")


def remove_what_the_dead_left():
    """Removes the namespaces of processes that were killed before they could remove them."""
    text = run(["ip", "netns", "list"]).decode() + run(["ip", "-o", "link", "show"]).decode()
    for pid in set(re.findall(r"\b(?:npb|npv|netproxy-)(\d+)", text)):
        if os.path.exists(f"/proc/{pid}"):
            continue
        for link in set(re.findall(rf"\bnp(?:b{pid}|v{pid}n\d+)\b", text)):
            attempt(["ip", "link", "delete", link])
        for name in set(re.findall(rf"\bnetproxy-{pid}-\d+\b", text)):
            attempt(["ip", "netns", "delete", name])
