"""A gigabyte through a reader that pauses: netproxy itself buffers almost nothing.

The bytes in the kernel for the four ends of the two connections are read from /proc/net/tcp and subtracted;
the rest is in netproxy. Its memory is the written memory, in KiB, because pages of its program become private
as other processes end.
"""

import socket
import threading
import time

from cases_messages import static
from harness import case, check, equal, free_port
from proxy import Netproxy

SIZE = 1 << 30
STOPS = 5
PIECE = b"x" * 65536
# A slab of 64 KiB and its overhead; at most the "few hundred KiB".
HELD = 256 << 10
MEMORY = 512


def private_memory(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty:"))


def queues(*ports):
    """Returns the bytes in the kernel for the established connections with one of these ports."""
    total = 0
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in list(file)[1:]:
            words = line.split()
            ends = {int(words[column].rpartition(":")[2], 16) for column in (1, 2)}
            if words[3] == "01" and ends & set(ports):
                total += sum(int(queue, 16) for queue in words[4].split(":"))
    return total


class Flow:
    """A body on its way from a writer to a reader."""

    def __init__(self, proxy, origin_port):
        self.pid = proxy.child.pid
        self.ports = (proxy.port, origin_port)
        self.baseline = private_memory(self.pid)
        self.sent = self.received = 0
        self.held, self.memory = [], []

    def write(self, end):
        view = memoryview(PIECE)
        while self.sent < SIZE:
            self.sent += end.send(view[:SIZE - self.sent])

    def read(self, end):
        """Reads everything, and pauses sometimes until nothing moves."""
        buffer = bytearray(1 << 18)
        stop = 0
        while self.received < SIZE:
            if self.received >= stop:
                self.settle()
                stop += SIZE // STOPS
            count = end.recv_into(buffer, min(len(buffer), SIZE - self.received))
            check(count > 0, f"the body ended after {self.received} bytes")
            self.received += count
            if self.received % (32 << 20) < count:
                self.memory.append(private_memory(self.pid) - self.baseline)

    def settle(self):
        """Waits until nothing has moved for a second, and records the buffered bytes of each part."""
        seen, since = None, time.monotonic()
        for _ in range(600):
            now = (self.sent, queues(*self.ports))
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > 1:
                break
            time.sleep(0.05)
        self.held.append(self.sent - self.received - seen[1])
        self.memory.append(private_memory(self.pid) - self.baseline)

    def judge(self):
        equal(self.received, SIZE, "bytes that arrived")
        check(max(self.held) <= HELD, f"netproxy held {self.held} bytes while the reader stopped")
        check(max(self.memory) <= MEMORY, f"netproxy grew by {max(self.memory)} KiB")


def head_of(end):
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = end.recv(1)
        check(byte, f"the connection ended in a head: {data!r}")
        data += byte
    return data


def flow(world, play, drive):
    """Runs `play` at the origin and `drive` at the client, over one daemon after a warm-up."""
    port = free_port()
    faults = []
    with socket.create_server(("127.0.0.1", port)) as listener, \
            Netproxy(world, {"orders": {"upstream": f"http://127.0.0.1:{port}"}},
                     workers=1) as proxy:
        listener.settimeout(20)

        def serve():
            try:
                with listener.accept()[0] as end:
                    end.settimeout(60)
                    head_of(end)
                    end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    head_of(end)
                    play(body, end)
            except Exception as fault:  # pylint: disable=broad-except
                faults.append(fault)

        origin = threading.Thread(target=serve, daemon=True)
        origin.start()
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as app:
            app.sendall(b"GET /orders/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            head_of(app)
            body = Flow(proxy, port)
            drive(body, app)
            origin.join(60)
        check(not faults, f"the origin failed: {faults}")
        body.judge()


@case
def a_gigabyte_down_through_a_slow_reader_is_not_kept(world):
    def play(body, end):
        end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE)
        body.write(end)

    def drive(body, app):
        app.sendall(b"GET /orders/2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head_of(app)
        body.read(app)

    flow(world, play, drive)


@case
def a_gigabyte_up_to_a_slow_reader_is_not_kept(world):
    def play(body, end):
        body.read(end)
        end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def drive(body, app):
        app.sendall(b"POST /orders/2 HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Length: %d\r\n\r\n" % SIZE)
        body.write(app)
        check(head_of(app).startswith(b"HTTP/1.1 200 "), "the upload was not answered with 200")

    flow(world, play, drive)


@case
def apps_that_connect_first_and_ask_later_cost_little_once_idle(world):
    """The daemon has tried to read each connection in vain before its request arrives."""
    count, limit = 400, 4
    request = b"GET /static/hello.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def ask(app):
        app.sendall(request)
        check(head_of(app).startswith(b"HTTP/1.1 200 "), "a request was not answered with 200")
        app.recv(100)

    with static(world) as proxy:
        apps = [socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
                for _ in range(count + 20)]
        # The last connection has its response, so the daemon has accepted all.
        for app in apps[count:]:
            ask(app)
        before = private_memory(proxy.child.pid)
        for app in apps[:count]:
            ask(app)
        grown = private_memory(proxy.child.pid) - before
        for app in apps:
            app.close()
    check(grown <= limit * count, f"memory grew by {grown / count:.1f} KiB for each idle app")
