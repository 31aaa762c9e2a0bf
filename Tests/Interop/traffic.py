"""Requests: curl, raw bytes, many concurrent requests, and a relay that counts connections."""

import asyncio
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time

from harness import Failure, check, clean_environment, equal


class Answer:
    """The response to curl."""

    def __init__(self, exit_code, head, body, seconds, notes):
        self.exit_code = exit_code
        self.body = body
        self.seconds = seconds
        self.notes = notes
        # Interim responses come first in the dump; the last block is the final response.
        blocks = [block for block in re.split(r"\r?\n\r?\n", head) if block.startswith("HTTP/")]
        self.statuses = [int(block.split()[1]) for block in blocks]
        self.status = self.statuses[-1] if blocks else 0
        self.version = blocks[0].split()[0] if blocks else ""
        self.fields = {}
        for line in blocks[-1].splitlines()[1:] if blocks else []:
            name, _, value = line.partition(":")
            self.fields.setdefault(name.strip().lower(), value.strip())

    def __str__(self):
        return f"{self.status} (curl exit {self.exit_code}) {self.body[:300]!r} {self.notes[-300:]}"


def curl(proxy, *arguments, proxy_variable=None, seconds=60):
    """Runs curl with its output in the daemon's directory, and returns the response."""
    with tempfile.TemporaryDirectory(dir=proxy.directory, prefix="curl-") as directory:
        return curl_in(directory, *arguments, proxy_variable=proxy_variable, seconds=seconds)


def curl_in(directory, *arguments, proxy_variable, seconds):
    head, body = os.path.join(directory, "head"), os.path.join(directory, "body")
    output = [] if {"-o", "-O"} & set(arguments) else ["-o", body]
    environment = clean_environment()
    if proxy_variable:
        environment["http_proxy"] = proxy_variable
    started = time.monotonic()
    try:
        done = subprocess.run(
            ["curl", "-q", "-sS", "--max-time", str(seconds), "-D", head, *output, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=seconds + 10, env=environment)
    except FileNotFoundError:
        raise Failure("curl is not installed") from None
    text = ""
    if os.path.exists(head):
        with open(head, encoding="latin-1", newline="") as file:
            text = file.read()
    content = b""
    if os.path.exists(body):
        with open(body, "rb") as file:
            content = file.read()
    return Answer(done.returncode, text, content, time.monotonic() - started,
                  done.stderr.decode(errors="replace"))


def problem_of(answer):
    """Returns the problem document of netproxy's response (RFC 9457), which must have all members."""
    equal(answer.fields.get("content-type", "").split(";")[0], "application/problem+json",
          f"content type ({answer})")
    problem = json.loads(answer.body)
    for key in ("type", "title", "status", "detail", "channel", "request_id"):
        check(key in problem, f"the problem has no {key}: {problem}")
    return problem


def raw(port, request, seconds=10):
    """Sends bytes and reads until the peer closes. Returns (bytes, whether it closed)."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(request)
        try:
            while block := connection.recv(65536):
                received += block
        except TimeoutError:
            return received, False
        except ConnectionResetError:
            pass
    return received, True


def storm(port, target, total, in_flight, seconds=120):
    """Sends `total` GETs over `in_flight` kept-alive connections. Returns {status: count}."""

    async def read_response(reader):
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        fields = head.lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)", fields)
        if length:
            await reader.readexactly(int(length.group(1)))
        elif b"\r\ntransfer-encoding: chunked" in fields:
            while size := int((await reader.readline()).split(b";")[0], 16):
                await reader.readexactly(size + 2)
            await reader.readexactly(2)
        return status, b"\r\nconnection: close" in fields

    async def worker(numbers, seen):
        reader = writer = None
        for number in numbers:
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(f"GET {target}?n={number} HTTP/1.1\r\n"
                             f"Host: 127.0.0.1:{port}\r\n\r\n".encode())
                status, closes = await read_response(reader)
                if closes:
                    writer.close()
                    writer = None
            except (OSError, asyncio.IncompleteReadError) as fault:
                status, writer = type(fault).__name__, None
            seen[status] = seen.get(status, 0) + 1
        if writer:
            writer.close()

    async def everything():
        seen, numbers = {}, iter(range(total))
        workers = [worker(numbers, seen) for _ in range(in_flight)]
        await asyncio.wait_for(asyncio.gather(*workers), seconds)
        return seen

    try:
        return asyncio.run(everything())
    except TimeoutError:
        raise Failure(f"{total} requests did not end within {seconds} s") from None


class Relay:
    """A TCP relay on its own loopback port, which counts the client's connections."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.create_connection(("127.0.0.1", self.target_port), timeout=10)
            far.settimeout(None)
            self.open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while block := source.recv(65536):
                sink.sendall(block)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Silent:
    """A listener that accepts and never responds; with `full`, one whose queue is full, so that a
    connection attempt hangs."""

    def __init__(self, full=False):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0 if full else 64)
        self.port = self.listener.getsockname()[1]
        self.fillers = []
        if full:
            for _ in range(4):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", self.port))
                self.fillers.append(filler)
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (*self.fillers, self.listener):
            each.close()
