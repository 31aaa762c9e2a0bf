"""Hostile bytes through netproxy; its output must be valid for h11 and llhttp, with the same meaning.

    strict.py requests|absolute|responses PROXY-PORT ORIGIN-PORT

Runs both the client and the origin of a daemon that forwards every path of the host `a` to ORIGIN-PORT. Exits
with 1 at the first message that was repaired, split, joined or given the response of another.
"""

import fcntl
import re
import select
import socket
import sys
import termios
import threading

import h11
import httptools

import corpus
from harness import Failure, check, eventually

MUTANTS = 700
PATIENCE = 0.05


class Reading:
    """Messages as parsed by one parser: first lines, field lines and content."""

    def __init__(self):
        self.messages = []
        self.error = None
        self.is_partial = False


class Llhttp(Reading):
    """llhttp in its strict mode, as in Node.js."""

    def __init__(self, raw, kind):
        super().__init__()
        self.fields, self.url, self.body, self.reason = [], b"", b"", b""
        self.parser = kind(self)
        self.is_request = kind is httptools.HttpRequestParser
        try:
            self.parser.feed_data(raw)
        except httptools.HttpParserUpgrade:
            self.is_partial = True
        except httptools.HttpParserError as error:
            self.error = str(error)

    def on_message_begin(self):
        self.fields, self.url, self.body, self.reason = [], b"", b"", b""
        self.is_partial = True

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        self.fields.append((bytes(name).lower(), bytes(value)))

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        first = ((self.parser.get_method(), self.url) if self.is_request
                 else (self.parser.get_status_code(),))
        self.messages.append((first, self.fields, self.body))
        self.is_partial = False


class H11(Reading):
    """h11: the requests of a server's connection, one after the other."""

    def __init__(self, raw):
        super().__init__()
        while raw is not None and self.error is None:
            raw = self.read_one(raw)

    def read_one(self, raw):
        """Parses one message; returns the bytes after it if another may follow."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 17)
        # RFC 9112 section 2.2: one empty line before the request is allowed; h11 allows none.
        connection.receive_data(raw.removeprefix(b"\r\n"))
        head, body = None, b""
        try:
            while True:
                event = connection.next_event()
                if isinstance(event, h11.Request):
                    head, body = event, b""
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    break
                else:
                    self.is_partial = bool(raw)
                    return None
        except h11.RemoteProtocolError as error:
            self.error = str(error)
            return None
        fields = [(bytes(name), bytes(value)) for name, value in head.headers]
        self.messages.append(((bytes(head.method), bytes(head.target)), fields, body))
        rest = connection.trailing_data[0]
        options = b",".join(value for name, value in fields if name == b"connection").lower()
        # h11 closes after every HTTP/1.0 message.
        persists = (connection.their_state is h11.DONE or head.http_version == b"1.0"
                    and b"keep-alive" in options and b"close" not in options)
        return rest if rest and persists else None


class RawConnection:
    """One connection of a RawOrigin; read bytes are in its log immediately."""

    def __init__(self, accepted, lock):
        self.socket, self.lock = accepted, lock
        self.log = bytearray()
        self.is_open = True
        self.sendall = accepted.sendall

    def recv(self, size):
        select.select([self.socket], [], [])
        # The bytes must never be gone from the socket but not yet in the log.
        with self.lock:
            piece = self.socket.recv(size)
            self.log += piece
        return piece

    def unread(self):
        """Returns the number of bytes waiting in the socket."""
        if not self.is_open:
            return 0
        count = fcntl.ioctl(self.socket, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(count, sys.byteorder)


class RawOrigin:
    """A TCP server that records every byte and lets `play` respond; one thread per connection."""

    def __init__(self, port, play):
        self.play = play
        self.lock = threading.Lock()
        self.connections = []
        self.socket = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            select.select([self.socket], [], [])
            with self.lock:
                try:
                    accepted, _ = self.socket.accept()
                except OSError:
                    return
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection = RawConnection(accepted, self.lock)
                self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.play(connection)
        except OSError:
            pass
        with self.lock:
            connection.is_open = False
            connection.socket.close()

    def has_closed(self, connection):
        with self.lock:
            return not connection.is_open

    def received(self):
        """Returns the bytes of each connection so far, after all sent bytes have been read."""

        def everything():
            with self.lock:
                waiting = select.select([self.socket], [], [], 0)[0]
                if waiting or any(each.unread() for each in self.connections):
                    return None
                return True, [bytes(each.log) for each in self.connections]

        return eventually(everything, "the origin has read what it was sent", 20, every=0.001)[1]

    def close(self):
        self.socket.close()


def exchange(port, raw, patience=PATIENCE):
    """Returns the complete response, and whether the connection ended cleanly or with a reset.

    Returns when netproxy has finished with the connection, so that no more bytes follow."""
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as app:
        try:
            app.sendall(raw)
            app.settimeout(patience)
            while piece := app.recv(65536):
                answer += piece
            return bytes(answer), "end"
        except socket.timeout:
            wait_for_the_end(app)
            return bytes(answer), "open"
        except OSError:
            return bytes(answer), "reset"


def wait_for_the_end(app):
    """Disconnects, and waits until netproxy has finished and closes as well."""
    app.settimeout(20)
    try:
        app.shutdown(socket.SHUT_WR)
        while app.recv(65536):
            pass
    except socket.timeout:
        raise Failure("netproxy keeps a connection whose app has gone") from None
    except OSError:
        pass


def answer_requests(connection):
    """An origin that responds to as many requests as h11 parses, with their number."""
    answered = 0
    while connection.recv(65536):
        seen = len(H11(bytes(connection.log)).messages)
        while answered < seen:
            answered += 1
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def absolute(raw):
    """Returns the bytes with origin-form targets in absolute-form."""
    line, separator, rest = raw.partition(b"\r\n")
    words = line.split(b" ")
    if len(words) == 3 and words[1].startswith(b"/"):
        words[1] = b"http://a" + words[1]
    return b" ".join(words) + separator + rest


def content(messages):
    return [(first[0], body) for first, _, body in messages]


def ascii_targets(raw):
    """Returns the bytes with request targets as netproxy forwards them: percent-encoded except for ASCII."""
    def encode(line):
        return re.sub(rb"[\x80-\xff]", lambda byte: b"%%%02X" % byte.group()[0], line.group())

    return re.sub(rb"(?m)^[A-Z]+ [^\r\n]+ HTTP/1\.[01]\r?$", encode, raw)



def hostile_requests(port, origin_port, reshape):
    originals = [one for one in corpus.cases() if one.direction == "request"]
    origin = RawOrigin(origin_port, answer_requests)
    for one in originals + corpus.mutants(originals, MUTANTS):
        raw = reshape(one.raw)
        # The bytes after a request for another protocol belong to that protocol.
        if b"upgrade:" in raw.lower() or b"CONNECT" in raw:
            continue
        before = [len(log) for log in origin.received()]
        exchange(port, raw)
        after = origin.received()
        before += [0] * (len(after) - len(before))
        new = [log[length:] for log, length in zip(after, before)]
        seen = []
        for bytes_seen in filter(None, new):
            strict, other = H11(bytes_seen), Llhttp(bytes_seen, httptools.HttpRequestParser)
            context = f"{one.name}: {raw!r} reached the origin as {bytes_seen!r}"
            # llhttp supports only registered methods; any other error is a fault of netproxy.
            check(other.error is None or "method" in other.error.lower(),
                  f"llhttp: {other.error}: {context}")
            check(strict.error is None, f"h11: {strict.error}: {context}")
            if other.error is None:
                check([message[0] for message in strict.messages]
                      == [message[0] for message in other.messages]
                      and content(strict.messages) == content(other.messages),
                      f"h11 and llhttp read it differently: {context}")
            seen += content(strict.messages)
        sent = H11(ascii_targets(raw))
        if sent.error is None or len(sent.messages) >= len(seen):
            check(seen == content(sent.messages)[:len(seen)],
                  f"{one.name}: {raw!r} became {seen!r}")
        else:
            check(not seen, f"{one.name}: h11 refuses {raw!r} ({sent.error}), "
                            f"netproxy forwarded {seen!r}")
    origin.close()


def hostile_responses(port, origin_port):
    originals = [one for one in corpus.cases() if one.direction.startswith("response")
                 and not any(line.startswith("101 ") for line in one.verdict)]
    current = {}

    def play(connection):
        while piece := connection.recv(65536):
            if not piece.endswith(b"\r\n\r\n"):
                continue
            if b"/hostile " not in piece:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown")
                continue
            # Half of them continue as if nothing had happened.
            is_last = current["number"] % 2
            if is_last:
                current["closing"] = connection
            connection.sendall(current["raw"])
            if is_last:
                return

    origin = RawOrigin(origin_port, play)
    for number, one in enumerate(originals + corpus.mutants(originals, MUTANTS)):
        current.update(raw=one.raw, number=number)
        method = "HEAD" if one.direction.endswith("HEAD") else "GET"
        answer, ending = exchange(
            port, f"{method} /hostile HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        context = f"{one.name}: {one.raw!r} reached the app as {answer!r} ({ending})"
        check_answer(answer, method, ending, context)
        # The next request must not use a connection that is about to close.
        if closing := current.pop("closing", None):
            eventually(lambda: origin.has_closed(closing), "the origin has closed", 20, every=0.001)
        own, _ = exchange(port, b"GET /after HTTP/1.1\r\nHost: a\r\n"
                                      b"Connection: close\r\n\r\n", patience=10)
        check(own.startswith(b"HTTP/1.1 200 ") and own.endswith(b"\r\n\r\nown"),
              f"{one.name}: after {one.raw!r} the next app got {own!r}")
    origin.close()


def check_answer(answer, method, ending, context):
    if not answer:
        # No response is not a wrong response: the exchange is waiting, or was cut.
        return
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 17)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(answer)
    if ending == "end":
        connection.receive_data(b"")
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                break
            if isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
                break
    except h11.RemoteProtocolError as error:
        # A cut is correct if the client can recognize it.
        if "without sending complete message body" in str(error) and ending != "open":
            return
        raise Failure(f"h11: {error}: {context}") from None
    surplus = connection.trailing_data[0] if connection.their_state is h11.DONE else b""
    check(not surplus, f"{surplus!r} follows the answer: {context}")
    if method == "GET" and b" 204 " not in answer[:20] and b" 304 " not in answer[:20]:
        other = Llhttp(answer, httptools.HttpResponseParser)
        check(other.error is None, f"llhttp: {other.error}: {context}")


def main():
    scenario, port, origin_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        if scenario == "responses":
            hostile_responses(port, origin_port)
        else:
            hostile_requests(port, origin_port, absolute if scenario == "absolute" else bytes)
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
