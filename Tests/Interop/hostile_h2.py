"""Hostile HTTP/2 peers of netproxy: origins with faulty responses and clients with faulty requests.

    hostile_h2.py channels PORT
    hostile_h2.py origins PROXY-PORT PORT PID [NAME]...
    hostile_h2.py apps PROXY-PORT PORT PID [NAME]...

`channels` prints as JSON, for each hostile origin, the upstream at which `origins` runs it and the attempts
of its channel. `origins` sends each of them one request as an HTTP/1.1 client. `apps` runs the hostile
clients, and at PORT the HTTP/1.1 origin of the channel `orders`. PID is netproxy's. Prints a line for every
peer with an unexpected outcome, and exits with 1 if there is one.

The bytes of the hostile side are built here, because no library writes such frames. netproxy's output is
parsed strictly by hpack, h2 and h11; `Peer` records further faults.
"""

import http.client
import json
import queue
import selectors
import socket
import struct
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h11
import hpack

from harness import Failure, check, equal

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
# Flags; ACK belongs to SETTINGS and PING.
ACK, END_STREAM, END_HEADERS, PADDED, WITH_PRIORITY = 1, 1, 4, 8, 32
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR = 0, 1, 2
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR = 7, 8, 9
ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 11, 13
# Settings.
TABLE_SIZE, ENABLE_PUSH, STREAMS, WINDOW, FRAME_SIZE, LIST_SIZE = range(1, 7)

AUTHORITY = "localhost"
SECONDS = 10
TABLE_SECONDS = 150
# The maximum growth of netproxy's memory over the whole table, in KiB.
GROWTH = 64 << 10
BIG = bytes(range(256)) * 4096
CONNECTION_FIELDS = {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding",
                     b"upgrade"}


# Frames, valid or not.

def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes((kind, flags))
            + struct.pack(">I", stream) + payload)


def octets(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def number(value, bits, first=0):
    """Returns an HPACK integer after the bits of its first octet."""
    coded = hpack.hpack.encode_integer(value, bits)
    coded[0] |= first
    return bytes(coded)


def text_of(value):
    return number(len(octets(value)), 7) + octets(value)


def literal(name, value, first=0x00):
    """Returns a literal field line; 0x40 adds it to the dynamic table."""
    return bytes((first,)) + text_of(name) + text_of(value)


def table_size(size):
    return number(size, 5, 0x20)


def block_of(fields):
    if isinstance(fields, bytes):
        return fields
    return b"".join(literal(name, value) for name, value in fields)


def headers(stream, fields, end=False, flags=END_HEADERS):
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, block_of(fields))


def continuation(stream, block=b"", end=False):
    return frame(CONTINUATION, END_HEADERS if end else 0, stream, block)


def long_headers(stream, fields, end=False, piece=16384):
    """Returns a header block in as many frames as necessary."""
    block = block_of(fields)
    pieces = [block[at:at + piece] for at in range(0, len(block), piece)]
    first = frame(HEADERS, END_STREAM if end else 0, stream, pieces[0])
    return first + b"".join(continuation(stream, each) for each in pieces[1:]) \
        + continuation(stream, end=True)


def data(stream, content=b"", end=False):
    return frame(DATA, END_STREAM if end else 0, stream, content)


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def reset(stream, code):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def goaway(last, code=NO_ERROR):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


def priority(stream, depends_on):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", depends_on, 15))


# Header blocks that every decoder must refuse.

BAD_BLOCKS = {
    "index-zero": b"\x80",
    "index-beyond-the-table": b"\xff\xff\x7f",
    "name-index-beyond-the-table": b"\x0f\xff\x7f" + text_of("x"),
    "integer-without-end": b"\xff" + b"\xff" * 30 + b"\x7f",
    "string-longer-than-anything": b"\x00\x7f" + b"\xff" * 12 + b"\x7f",
    "string-longer-than-the-block": b"\x00\x05ab",
    "value-missing": b"\x00\x01a",
    "huffman-padded-with-zeros": b"\x00\x01a\x81\x00",
    "huffman-with-the-end-symbol": b"\x00\x01a\x84\xff\xff\xff\xff",
    "huffman-with-an-octet-of-padding": b"\x00\x01a\x82\x07\xff",
    "table-larger-than-allowed": table_size(1 << 28),
    "table-size-behind-a-field": literal("x", "y") + table_size(0),
}
# 3.9 KB once, and then 16,000 times by index.
BOMB = literal("x-bomb", "b" * 3900, 0x40) + b"\xbe" * 16000
LARGE_LIST = [(f"x-large-{index}", "v" * 4000) for index in range(500)]
MANY_FIELDS = [(f"x-many-{index}", "v") for index in range(5000)]

BAD_FIELDS = {
    "name-in-capitals": ("X-Capital", "v"),
    "name-with-one-capital": ("x-capitaL", "v"),
    "name-with-a-space": ("x name", "v"),
    "name-with-a-space-at-its-end": ("x-name ", "v"),
    "name-with-a-colon": ("x-name: v", "v"),
    "name-with-a-line-end": ("x-name: v\r\nx-injected", "v"),
    "name-with-a-control": ("x-\x01", "v"),
    "name-beyond-ascii": (b"x-\xc3\xbc", "v"),
    "name-with-del": ("x-\x7f", "v"),
    "name-empty": ("", "v"),
    "value-with-a-line-end": ("x-value", "v\r\nx-injected: 1"),
    "value-with-lf": ("x-value", "v\nx-injected: 1"),
    "value-with-cr": ("x-value", "v\rx-injected: 1"),
    "value-with-nul": ("x-value", "v\0w"),
    "value-with-a-whole-message": ("x-value", "v\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"),
    "field-connection": ("connection", "x-value"),
    "field-connection-close": ("connection", "close"),
    "field-keep-alive": ("keep-alive", "timeout=5"),
    "field-proxy-connection": ("proxy-connection", "keep-alive"),
    "field-transfer-encoding": ("transfer-encoding", "chunked"),
    "field-upgrade": ("upgrade", "h2c"),
}

# Invalid SETTINGS frames.
BAD_SETTINGS = {
    "settings-of-five-octets": frame(SETTINGS, 0, 0, bytes(5)),
    "settings-on-a-stream": frame(SETTINGS, 0, 1, b""),
    "settings-ack-with-payload": frame(SETTINGS, ACK, 0, struct.pack(">HI", WINDOW, 65535)),
    "settings-push-two": settings((ENABLE_PUSH, 2)),
    "settings-window-too-large": settings((WINDOW, 1 << 31)),
    "settings-frame-size-too-small": settings((FRAME_SIZE, 16383)),
    "settings-frame-size-too-large": settings((FRAME_SIZE, 1 << 24)),
}

# Frames that end a connection in either direction, regardless of its state; the stream is open.
BAD_FRAMES = {
    "frame-over-the-limit": lambda s: frame(0xfe, 0, 0, bytes(1 << 21)),
    "ping-of-seven-octets": lambda s: frame(PING, 0, 0, bytes(7)),
    "ping-on-a-stream": lambda s: frame(PING, 0, s, bytes(8)),
    "window-update-of-three-octets": lambda s: frame(WINDOW_UPDATE, 0, 0, bytes(3)),
    "window-update-of-zero": lambda s: window(0, 0),
    "window-of-the-connection-overflows": lambda s: window(0, 0x7fffffff) * 2,
    "window-update-on-an-idle-stream": lambda s: window(s + 100, 1),
    "data-on-an-idle-stream": lambda s: data(s + 100, b"x"),
    "data-on-no-stream": lambda s: data(0, b"x"),
    "headers-on-no-stream": lambda s: headers(0, [("x", "y")], end=True),
    "headers-of-priority-only-half": lambda s: headers(
        s + 100, b"\0\0", flags=END_HEADERS | WITH_PRIORITY),
    "reset-on-an-idle-stream": lambda s: reset(s + 100, CANCEL),
    "reset-on-no-stream": lambda s: reset(0, CANCEL),
    "reset-of-three-octets": lambda s: frame(RST_STREAM, 0, s, bytes(3)),
    "priority-on-no-stream": lambda s: priority(0, 1),
    "goaway-on-a-stream": lambda s: frame(GOAWAY, 0, s, bytes(8)),
    "goaway-of-seven-octets": lambda s: frame(GOAWAY, 0, 0, bytes(7)),
    "continuation-of-nothing": lambda s: continuation(s, literal("x", "y"), end=True),
    "continuation-on-no-stream": lambda s: continuation(0, literal("x", "y"), end=True),
}


# One connection, in either role.

class Stream:
    """The data that has arrived on one stream."""

    def __init__(self):
        self.heads, self.data = [], bytearray()
        self.is_ended = self.is_informed = False
        self.reset = None

    @property
    def status(self):
        """The final status, if it has arrived."""
        for fields in self.heads:
            found = dict(fields).get(b":status", b"")
            if found and not found.startswith(b"1"):
                return int(found)
        return None

    def field(self, name):
        return dict(self.heads[0]).get(octets(name)) if self.heads else None


class Peer:
    """The hostile side of a connection. Its own thread reads, so that a flood cannot block both sides."""

    def __init__(self, connected, is_origin=False):
        self.socket, self.is_origin = connected, is_origin
        connected.settimeout(2 * SECONDS)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.changed = threading.Condition()
        self.sending = threading.Lock()
        self.streams, self.requests = {}, queue.SimpleQueue()
        self.goaway = None      # the last error code
        self.settings, self.acks, self.pings = None, 0, []
        self.faults = []
        self.text = b""         # bytes that arrived instead of frames
        self.is_closed = False
        # Whether settings and pings are acknowledged, and windows updated.
        self.is_polite, self.credits = True, is_origin
        self.may_read = threading.Event()
        self.may_read.set()
        self.decoder = hpack.Decoder(1 << 20)

    def begin(self):
        """Begins to read. An origin has already sent its settings; otherwise netproxy's acknowledgment
        could precede them."""
        threading.Thread(target=self.read, daemon=True).start()

    # Actions of the hostile side.

    def send(self, *pieces):
        with self.sending:
            self.socket.sendall(b"".join(pieces))

    def flood(self, piece, count, seconds=5):
        """Repeats the same bytes while netproxy accepts them."""
        batch, until = max(1, (1 << 16) // len(piece)), time.monotonic() + seconds
        for _ in range(0, count, batch):
            if self.is_closed or time.monotonic() > until:
                return
            self.send(piece * batch)

    def wait(self, condition, seconds=SECONDS):
        """Returns whether the condition became true before the timeout and the end of the connection."""
        with self.changed:
            self.changed.wait_for(lambda: condition() or self.is_closed, seconds)
            return bool(condition())

    def greet(self, *pairs):
        """Sends the preface of a client and its settings; returns after reading netproxy's settings."""
        self.send(PREFACE + settings(*pairs))
        check(self.wait(lambda: self.settings is not None), "netproxy sent no SETTINGS")

    def stream(self, number_):
        with self.changed:
            return self.streams.setdefault(number_, Stream())

    def ended(self, stream, seconds=SECONDS):
        """Returns whether the message on the stream has ended."""
        return self.wait(lambda: self.stream(stream).is_ended, seconds)

    def stop(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    # Input from netproxy.

    def exactly(self, count):
        pieces = bytearray()
        while len(pieces) < count:
            piece = self.socket.recv(count - len(pieces))
            if not piece:
                raise EOFError
            pieces += piece
            self.may_read.wait(SECONDS)
        return bytes(pieces)

    def read(self):
        try:
            if self.is_origin:
                start = self.exactly(len(PREFACE))
                if start != PREFACE:
                    self.faults.append(f"netproxy began with {start!r}")
                    return
            self.read_frames()
        except hpack.HPACKError as error:
            self.faults.append(f"netproxy's header block: {error}")
        except (OSError, EOFError):
            pass
        finally:
            with self.changed:
                self.is_closed = True
                self.changed.notify_all()
            self.requests.put(None)

    def read_frames(self):
        is_first, block, owner, last = True, None, 0, 0
        while True:
            head = self.exactly(9)
            if is_first and head.startswith(b"HTTP/1"):
                self.text = head
                while piece := self.socket.recv(65536):
                    self.text += piece
                return
            length = int.from_bytes(head[:3], "big")
            kind, flags = head[3], head[4]
            stream = int.from_bytes(head[5:], "big") & 0x7fffffff
            if length > 16384:
                self.faults.append(f"netproxy sent a frame of {length} octets")
                return
            payload = self.exactly(length)
            if is_first and (kind != SETTINGS or flags & ACK):
                self.faults.append(f"netproxy's first frame is of type {kind}")
            if block is not None and (kind != CONTINUATION or stream != owner):
                self.faults.append(f"netproxy put type {kind} into a header block")
            is_first = False
            if kind == HEADERS:
                block, owner, begin_flags = b"", stream, flags
                if self.is_origin and stream not in self.streams:
                    if stream % 2 == 0 or stream < last:
                        self.faults.append(f"netproxy opened stream {stream} after {last}")
                    last = stream
                payload = unpadded(payload, flags)
                if flags & WITH_PRIORITY:
                    payload = payload[5:]
            if kind in (HEADERS, CONTINUATION):
                block += payload
                if flags & END_HEADERS:
                    # Blocks must be decoded in order, even those of ignored streams.
                    fields = self.decoder.decode(block, raw=True)
                    block = None
                    self.take_head(owner, [tuple(each) for each in fields], begin_flags)
                continue
            self.take(kind, flags, stream, payload)

    def take_head(self, number_, fields, flags):
        stream = self.stream(number_)
        is_new = not stream.heads
        self.look_at(fields, is_trailer=not is_new and self.is_origin
                     or stream.status is not None)
        with self.changed:
            if stream.is_ended:
                self.faults.append("netproxy sent HEADERS behind the end of a stream")
            stream.heads.append(fields)
            # Whether the stream began after netproxy had acknowledged the settings.
            stream.is_informed |= is_new and self.acks > 0
            stream.is_ended |= bool(flags & END_STREAM)
            self.changed.notify_all()
        if is_new:
            self.requests.put(number_)

    def look_at(self, fields, is_trailer):
        regular = False
        for name, value in fields:
            is_pseudo = name.startswith(b":")
            if (name != name.lower() or is_pseudo and (regular or is_trailer)
                    or name in CONNECTION_FIELDS or name == b"te" and value != b"trailers"
                    or not name or set(b"\r\n\0") & set(name + value)):
                self.faults.append(f"netproxy sent the field {name!r}: {value!r}")
            regular |= not is_pseudo

    def take(self, kind, flags, number_, payload):
        if kind == SETTINGS and not flags & ACK and self.is_polite:
            self.send(frame(SETTINGS, ACK, 0))
        if kind == PING and not flags & ACK and self.is_polite:
            self.send(frame(PING, ACK, 0, payload))
        if kind == DATA and payload and self.credits:
            self.send(window(0, len(payload)), window(number_, len(payload)))
        with self.changed:
            if kind == SETTINGS:
                if flags & ACK:
                    self.acks += 1
                else:
                    pairs = struct.iter_unpack(">HI", payload)
                    self.settings = {**(self.settings or {}), **dict(pairs)}
            elif kind == PING and flags & ACK:
                self.pings.append(payload)
            elif kind == GOAWAY:
                self.goaway = struct.unpack(">II", payload[:8])[1]
            elif kind in (DATA, RST_STREAM):
                stream = self.streams.setdefault(number_, Stream())
                if kind == RST_STREAM:
                    stream.reset = struct.unpack(">I", payload)[0]
                elif stream.is_ended:
                    self.faults.append("netproxy sent DATA behind the end of a stream")
                else:
                    stream.data += unpadded(payload, flags)
                    stream.is_ended = bool(flags & END_STREAM)
            elif kind == PUSH_PROMISE:
                self.faults.append("netproxy sent PUSH_PROMISE")
            self.changed.notify_all()


def unpadded(payload, flags):
    return payload[1:len(payload) - payload[0]] if flags & PADDED else payload


class Entry:
    """One peer of a table: its name, its actions and the expected outcome."""

    def __init__(self, name, verdict, play, **options):
        self.name, self.verdict, self.play = name, verdict.split("|"), play
        # For both sides.
        self.method, self.body, self.fields = "GET", b"", ()
        # For origins: the action on the first connection before anything is read; whether `play` begins at
        # the head of the request; the expected response; the pause before reading; a special client, if any
        # (and `greet` for every connection); the number of retries of the channel, and whether they apply to
        # later requests only; whether an ordinary request first tells netproxy the settings of the
        # connection.
        self.greet, self.is_early, self.status, self.content = None, False, 200, b"fine"
        self.errors, self.pause, self.drive = ERRORS, 0, None
        self.attempts, self.plays_once = 2 if "retried" in self.verdict else 0, False
        self.is_warm = False
        # For clients: whether the preface is omitted; the stream of the verdict, and the statuses that it
        # treats as 400; the number of times that the request may arrive, and the expected request; whether
        # the connection stays usable.
        self.is_bare, self.stream, self.statuses, self.goes_on = False, 1, (400,), True
        self.arrives = ("exactly" if verdict == "answer" else "once" if "answer" in verdict
                        else "never")
        self.demands = None
        for option, value in options.items():
            check(hasattr(self, option), f"{name} has an unknown {option}")
            setattr(self, option, value)
        self.connections = self.plays = 0


# Hostile origins. The verdicts: `502`, netproxy's own response; `504`, the same after a timeout; `answer`,
# the expected response arrives completely; `cut`, a head arrives and the rest does not end properly, or the
# response is 502 because netproxy detected the fault in time; `retried`, a later attempt gets a response.

ERRORS = ("http_protocol_error", "http_response_incomplete", "connection_terminated")
STALLS = ("http_response_timeout", "connection_read_timeout", "connection_write_timeout")
ORIGINS = []
OK = (":status", "200")


def good(stream):
    return headers(stream, [OK, ("content-length", "4")]) + data(stream, b"fine", end=True)


def play_good(end, stream):
    end.send(good(stream))


def origin(name, verdict, *pieces, **options):
    """Registers an origin that sends the result of each function for the stream, in order."""
    def play(end, stream):
        for index, piece in enumerate(pieces):
            if index:
                time.sleep(0.1)
            end.send(piece(stream))

    ORIGINS.append(Entry(name, verdict, play if pieces else play_good, **options))


def acting_origin(verdict, **options):
    """Registers a function of the peer and the stream as a hostile origin."""
    def register(play):
        ORIGINS.append(Entry(play.__name__.replace("_", "-"), verdict, play, **options))
        return play

    return register


def bad_head(name, fields, verdict="502", **options):
    """Registers an origin whose response has one fault in its head."""
    origin("head-" + name, verdict,
           lambda s: headers(s, fields) + data(s, b"fine", end=True), **options)


def bad_greeting(name, greeting, verdict="502", **options):
    """Registers an origin with a fault in the first bytes of its first connection."""
    origin(name, verdict, greet=lambda end: end.send(greeting), **options)


bad_greeting("begins-with-ping", frame(PING, 0, 0, bytes(8)) + settings())
bad_greeting("begins-with-an-acknowledgement", frame(SETTINGS, ACK, 0) + settings())
bad_greeting("begins-with-window-update", window(0, 1) + settings())
bad_greeting("begins-with-goaway", goaway(0, PROTOCOL_ERROR))
bad_greeting("speaks-http1", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
bad_greeting("speaks-an-app", PREFACE + settings())
bad_greeting("speaks-garbage", bytes(range(256)) * 64)
for bad_name, whole in BAD_SETTINGS.items():
    bad_greeting(bad_name, whole)
bad_greeting("settings-push-one", settings((ENABLE_PUSH, 1)))
bad_greeting("settings-nobody-knows", settings((0x4a4a, 1), (0xffff, 0xffffffff)), "answer")
bad_greeting("settings-twice-the-same", settings((WINDOW, 1), (WINDOW, 65535)), "answer")
bad_greeting("settings-table-of-nothing", settings((TABLE_SIZE, 0)), "answer")
bad_greeting("settings-table-of-everything", settings((TABLE_SIZE, 0xffffffff)), "answer")
bad_greeting("settings-frames-of-16-megabytes", settings((FRAME_SIZE, (1 << 24) - 1)), "answer",
             method="POST", body=BIG)
bad_greeting("settings-list-of-nothing", settings((LIST_SIZE, 0)), "answer|502")
bad_greeting("settings-acknowledged-unasked", settings() + frame(SETTINGS, ACK, 0) * 3,
             "answer|502")


@acting_origin("502", greet=lambda end: end.stop())
def closes_at_once(end, stream):
    play_good(end, stream)


def greet_without_settings(end):
    end.is_polite = False
    end.send(good(1))


origin("answers-without-settings", "502", greet=greet_without_settings)


def greet_without_acknowledgement(end):
    end.is_polite = False
    end.send(settings())


origin("never-acknowledges-settings", "answer", greet=greet_without_acknowledgement)


@acting_origin("502")
def closes_before_the_head(end, stream):
    end.stop()


@acting_origin("502")
def closes_within_the_head(end, stream):
    end.send(good(stream)[:12])
    end.stop()


@acting_origin("502")
def closes_within_the_header_block(end, stream):
    end.send(headers(stream, [OK], flags=0))
    end.stop()


@acting_origin("cut")
def closes_within_the_body(end, stream):
    end.send(headers(stream, [OK]), data(stream, b"fi"))
    time.sleep(0.1)
    end.stop()


@acting_origin("cut")
def closes_within_a_frame_of_the_body(end, stream):
    end.send(headers(stream, [OK, ("content-length", "4")]), data(stream, b"fine")[:11])
    time.sleep(0.1)
    end.stop()


@acting_origin("cut")
def closes_where_the_body_may_go_on(end, stream):
    end.send(headers(stream, [OK]), data(stream, b"fine"))
    time.sleep(0.1)
    end.stop()


for bad_name, piece_of in BAD_FRAMES.items():
    origin(bad_name, "502",
           lambda s, piece_of=piece_of: piece_of(s) + good(s))
origin("data-over-the-limit", "cut",
       lambda s: headers(s, [OK]), lambda s: data(s, bytes(1 << 21), end=True))
origin("frames-nobody-knows", "answer",
       lambda s: frame(0x4a, 0xff, 0, b"x" * 100) + frame(0xff, 0xff, s, b"x" * 100)
       + headers(s, [OK, ("content-length", "4")]) + frame(0x4a, 0xff, s)
       + data(s, b"fine", end=True))
origin("flags-nobody-knows", "answer",
       lambda s: frame(HEADERS, END_HEADERS | 0xd2, s, block_of([OK]))
       + frame(DATA, END_STREAM | 0xf6, s, b"fine"))
origin("reserved-bit", "answer",
       lambda s: headers(s | 1 << 31, [OK]) + data(s | 1 << 31, b"fine", end=True))
# netproxy need not count windows on a stream on which it has nothing more to send.
origin("window-of-the-stream-by-zero", "502|answer", lambda s: window(s, 0) + good(s))
origin("window-of-the-stream-overflows", "502|answer",
       lambda s: window(s, 0x7fffffff) * 2 + good(s))
origin("data-before-the-head", "502", lambda s: data(s, b"fine") + good(s))
origin("data-behind-the-end", "answer", lambda s: good(s) + data(s, b"more", end=True))
origin("headers-behind-the-end", "answer", lambda s: good(s) + headers(s, [OK], end=True))
origin("data-on-a-stream-of-its-own", "502", lambda s: data(2, b"x", end=True) + good(s))
origin("headers-on-a-stream-of-its-own", "502", lambda s: headers(2, [OK], end=True) + good(s))
origin("headers-on-an-idle-stream", "502", lambda s: headers(s + 100, [OK], end=True) + good(s))
origin("data-padded", "answer",
       lambda s: headers(s, [OK, ("content-length", "4")])
       + frame(DATA, PADDED, s, b"\x05fi" + bytes(5)) + frame(DATA, PADDED, s, b"\x00ne")
       + frame(DATA, PADDED | END_STREAM, s, b"\xff" + bytes(255)))
origin("data-padded-beyond-its-end", "cut",
       lambda s: headers(s, [OK]), lambda s: frame(DATA, PADDED | END_STREAM, s, b"\x05fine"))
origin("data-padded-without-a-length", "cut",
       lambda s: headers(s, [OK]), lambda s: frame(DATA, PADDED | END_STREAM, s))
origin("headers-padded", "answer",
       lambda s: frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, s,
                       b"\x03" + struct.pack(">IB", 0, 7) + block_of([OK]) + bytes(3))
       + data(s, b"fine", end=True))
origin("headers-padded-beyond-their-end", "502",
       lambda s: frame(HEADERS, END_HEADERS | PADDED, s, b"\xff" + block_of([OK])) + good(s))
origin("headers-that-depend-on-themselves", "502|answer",
       lambda s: frame(HEADERS, END_HEADERS | WITH_PRIORITY, s,
                       struct.pack(">IB", s, 7) + block_of([OK])) + data(s, b"fine", end=True))
origin("priority-of-four-octets", "502", lambda s: frame(PRIORITY, 0, s, bytes(4)) + good(s))
origin("priority-from-an-origin", "answer", lambda s: priority(s + 8, s) + good(s))

# Header blocks.
origin("continuation-behind-the-block", "502",
       lambda s: headers(s, [OK]) + continuation(s, end=True) + data(s, b"fine", end=True))
origin("continuation-on-another-stream", "502",
       lambda s: headers(s, [OK], flags=0) + continuation(s + 2, end=True)
       + data(s, b"fine", end=True))
origin("ping-within-a-header-block", "502",
       lambda s: headers(s, [OK], flags=0) + frame(PING, 0, 0, bytes(8))
       + continuation(s, end=True) + data(s, b"fine", end=True))
origin("data-within-a-header-block", "502",
       lambda s: headers(s, [OK], flags=0) + data(s, b"fine", end=True))
origin("unknown-frame-within-a-header-block", "502",
       lambda s: headers(s, [OK], flags=0) + frame(0x4a, 0, s)
       + continuation(s, end=True) + data(s, b"fine", end=True))
origin("continuations-of-one-octet", "answer|502",
       lambda s: long_headers(s, [OK, ("x", "y")], piece=1) + data(s, b"fine", end=True))
origin("continuations-without-content", "answer",
       lambda s: headers(s, b"", flags=0) + continuation(s) * 3
       + continuation(s, block_of([OK]), end=True) + data(s, b"fine", end=True))


@acting_origin("502")
def continuations_without_end(end, stream):
    end.send(headers(stream, [OK], flags=0))
    end.flood(continuation(stream, literal("x-flood", "v" * 1000)), 50000)


@acting_origin("502")
def empty_continuations_without_end(end, stream):
    end.send(headers(stream, [OK], flags=0))
    end.flood(continuation(stream), 200000)


for bad_name, bad_block in BAD_BLOCKS.items():
    origin("block-" + bad_name, "502",
           lambda s, bad_block=bad_block: headers(s, literal(*OK) + bad_block)
           + data(s, b"fine", end=True))
origin("block-with-table-sizes-in-front", "answer",
       lambda s: headers(s, table_size(0) + table_size(4096) + literal(*OK))
       + data(s, b"fine", end=True))
origin("block-that-is-a-bomb", "502",
       lambda s: long_headers(s, literal(*OK) + BOMB) + data(s, b"fine", end=True))
origin("block-with-a-large-list", "502",
       lambda s: long_headers(s, [OK, *LARGE_LIST]) + data(s, b"fine", end=True))
origin("block-with-many-fields", "502",
       lambda s: long_headers(s, [OK, *MANY_FIELDS]) + data(s, b"fine", end=True))

# Heads.
bad_head("without-a-status", [("x", "y")])
bad_head("without-anything", [])
bad_head("with-two-statuses", [OK, OK])
bad_head("with-the-status-behind-a-field", [("x", "y"), OK])
bad_head("with-a-pseudo-field-of-its-own", [OK, (":reason", "OK")])
bad_head("with-a-path", [OK, (":path", "/")])
for bad_name, bad_status in {
        "in-words": "two", "of-two-digits": "20", "of-four-digits": "2000", "empty": "",
        "with-a-sign": "+20", "with-a-reason": "200 OK", "with-a-line-end": "200\r\nx-injected: 1",
        "below-100": "099", "that-switches": "101"}.items():
    bad_head("with-a-status-" + bad_name, [(":status", bad_status)])
for bad_name, bad_field in BAD_FIELDS.items():
    bad_head("with-" + bad_name, [OK, bad_field])

# Lengths.
for bad_name, lengths in {
        "in-words": ["four"], "empty": [""], "negative": ["-4"], "with-a-sign": ["+4"],
        "hexadecimal": ["0x4"], "beyond-64-bits": ["18446744073709551620"],
        "two-that-differ": ["4", "5"], "a-list-that-differs": ["4, 5"]}.items():
    bad_head("with-a-length-" + bad_name, [OK, *(("content-length", each) for each in lengths)])
bad_head("with-a-length-twice", [OK, ("content-length", "4"), ("content-length", "4")],
         "answer|502")
origin("length-beyond-the-content", "cut",
       lambda s: headers(s, [OK, ("content-length", "10")]), lambda s: data(s, b"fine", end=True))
origin("length-below-the-content", "cut",
       lambda s: headers(s, [OK, ("content-length", "2")]), lambda s: data(s, b"fine", end=True))
origin("length-of-nothing-with-content", "502|cut|answer",
       lambda s: headers(s, [OK, ("content-length", "0")]) + data(s, b"fine", end=True),
       content=b"")
origin("length-without-content", "502|cut",
       lambda s: headers(s, [OK, ("content-length", "4")], end=True))
origin("length-without-content-to-head", "answer",
       lambda s: headers(s, [OK, ("content-length", "4")], end=True), method="HEAD", content=b"")
origin("length-and-an-empty-frame-to-head", "answer",
       lambda s: headers(s, [OK, ("content-length", "4")]) + data(s, end=True), method="HEAD",
       content=b"")
origin("content-to-head", "502|answer", good, method="HEAD", content=b"")
origin("nothing-with-204", "answer", lambda s: headers(s, [(":status", "204")], end=True),
       status=204, content=b"")
origin("content-with-204", "502|answer",
       lambda s: headers(s, [(":status", "204")]) + data(s, b"fine", end=True), status=204,
       content=b"")
origin("length-with-304", "answer",
       lambda s: headers(s, [(":status", "304"), ("content-length", "4")], end=True), status=304,
       content=b"")
origin("content-with-304", "502|answer",
       lambda s: headers(s, [(":status", "304")]) + data(s, b"fine", end=True), status=304,
       content=b"")
origin("nothing-at-all", "answer", lambda s: headers(s, [OK], end=True), content=b"")

# Trailers.


def trailing(name, verdict, *sections, end=True):
    origin("trailers-" + name, verdict,
           lambda s: headers(s, [OK]) + data(s, b"fine"),
           lambda s: b"".join(headers(s, each, end=end and index == len(sections) - 1)
                              for index, each in enumerate(sections)))


trailing("of-the-usual-kind", "answer", [("x-checksum", "1"), ("grpc-status", "0")])
trailing("that-are-empty", "answer", [])
trailing("with-a-status", "cut", [OK])
trailing("with-a-pseudo-field", "cut", [("x", "y"), (":path", "/")])
trailing("without-end", "cut", [("x", "y")], end=False)
trailing("twice", "cut", [("x", "y")], [("x", "y")])
trailing("with-a-length", "cut|answer", [("content-length", "400")])
trailing("with-a-coding", "cut", [("transfer-encoding", "chunked")])
trailing("with-a-line-end", "cut", [("x", "y\r\nx-injected: 1")])
origin("trailers-and-then-content", "cut",
       lambda s: headers(s, [OK]) + data(s, b"fi"),
       lambda s: headers(s, [("x", "y")]) + data(s, b"ne", end=True))

# Interim responses.
HINT = [(":status", "103"), ("link", "</a>; rel=preload")]
origin("interim-answers", "answer",
       lambda s: headers(s, [(":status", "100")]) + headers(s, HINT) + headers(s, HINT) + good(s))
origin("interim-answer-that-ends", "502", lambda s: headers(s, HINT, end=True))
origin("interim-answer-with-content", "502", lambda s: headers(s, HINT) + data(s, b"x") + good(s))
origin("interim-answer-with-a-bad-field", "502",
       lambda s: headers(s, [*HINT, ("x", "y\r\nx-injected: 1")]) + good(s))
origin("interim-answer-that-switches", "502", lambda s: headers(s, [(":status", "101")]) + good(s))


@acting_origin("502|504")
def interim_answers_without_end(end, stream):
    end.flood(headers(stream, HINT), 20000)


# Pushes.
PROMISE = block_of([(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")])
origin("push-promise", "502",
       lambda s: frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", 2) + PROMISE) + good(s))
origin("push-promise-of-an-odd-stream", "502",
       lambda s: frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", s + 2) + PROMISE) + good(s))
origin("push-promise-within-the-body", "cut",
       lambda s: headers(s, [OK]) + data(s, b"fi"),
       lambda s: frame(PUSH_PROMISE, END_HEADERS, s, struct.pack(">I", 2) + PROMISE)
       + data(s, b"ne", end=True))


# Floods. A response follows each: netproxy may accept the flood or not, but it must end and cost little.

def flooding(name, piece_of, count=20000, before=b"", **options):
    def play(end, stream):
        if before:
            end.send(before(stream))
        end.flood(piece_of(stream), count)
        end.send(data(stream, b"fine", end=True) if before else good(stream))

    ORIGINS.append(Entry("flood-of-" + name, "answer|502|cut|504", play, **options))


flooding("settings", lambda s: settings((WINDOW, 65535)))
flooding("settings-that-change", lambda s: settings((TABLE_SIZE, 0), (WINDOW, 1), (WINDOW, 65535)))
flooding("pings", lambda s: frame(PING, 0, 0, bytes(8)), 50000)
flooding("ping-answers", lambda s: frame(PING, ACK, 0, bytes(8)), 50000)
flooding("empty-data", lambda s: data(s), 50000, before=lambda s: headers(s, [OK]))
flooding("padding", lambda s: frame(DATA, PADDED, s, b"\xff" + bytes(255)), 20000,
         before=lambda s: headers(s, [OK]))
flooding("priorities", lambda s: priority(s, s + 2), 50000)
flooding("resets", lambda s: reset(s, CANCEL), 50000)
flooding("window-updates", lambda s: window(0, 1), 50000)
flooding("unknown-frames", lambda s: frame(0x4a, 0, 0, bytes(100)), 50000)
flooding("goaways", lambda s: goaway(0x7fffffff), 20000)


@acting_origin("cut", pause=3)
def data_beyond_the_window(end, stream):
    end.send(headers(stream, [OK]))
    end.flood(data(stream, bytes(16384)), 6000)
    end.send(data(stream, end=True))


# Windows.

def greet_closed(end):
    end.credits = False
    end.send(settings((WINDOW, 0)))


@acting_origin("504|502", greet=greet_closed, method="POST", body=BIG, is_early=True, is_warm=True,
               errors=ERRORS + STALLS)
def window_that_never_opens(end, stream):
    end.wait(lambda: end.stream(stream).reset is not None)
    check(not end.stream(stream).data, "netproxy sent what the window had no room for")


@acting_origin("answer", greet=greet_closed, method="POST", body=BIG[:400], is_early=True,
               is_warm=True)
def window_opened_octet_by_octet(end, stream):
    for count in range(1, 401):
        end.send(window(stream, 1))
        check(end.wait(lambda: len(end.stream(stream).data) >= count, 5),
              f"netproxy left a window of {count} octets unused")
        equal(len(end.stream(stream).data), count, "octets in a window of that many")
    check(end.ended(stream, 5), "the request did not end behind its last octet")
    equal(bytes(end.stream(stream).data), BIG[:400], "content that arrived")
    play_good(end, stream)


def greet_uncredited(end):
    end.credits = False
    end.send(settings((WINDOW, 50000)))


@acting_origin("answer", greet=greet_uncredited, method="POST", body=BIG[:200000],
               is_early=True, is_warm=True)
def window_lowered_within_an_upload(end, stream):
    check(end.wait(lambda: len(end.stream(stream).data) == 50000, 5), "the first window is unused")
    acks = end.acks
    end.send(settings((WINDOW, 10)), window(0, 1 << 20))
    check(end.wait(lambda: end.acks > acks, 5), "the settings were not acknowledged")
    # The window is now 10 - 50000.
    end.send(window(stream, 49990))
    time.sleep(0.2)
    equal(len(end.stream(stream).data), 50000, "octets in a window that was lowered")
    end.send(window(stream, 1 << 20))
    check(end.ended(stream, 5), "the request did not end in a wide window")
    equal(bytes(end.stream(stream).data), BIG[:200000], "content that arrived")
    play_good(end, stream)


def greet_widest(end):
    end.send(settings((WINDOW, 0x7fffffff)), window(0, 0x7fffffff - 65535))
    end.credits = False


origin("windows-of-two-gigabytes", "answer", greet=greet_widest, method="POST", body=BIG)


origin("window-by-zero-within-an-upload", "502", lambda s: window(s, 0) + good(s),
       greet=greet_closed, method="POST", body=BIG, is_early=True, is_warm=True)
origin("window-that-overflows-within-an-upload", "502",
       lambda s: window(s, 0x7fffffff) * 2 + good(s),
       greet=greet_closed, method="POST", body=BIG, is_early=True, is_warm=True)


@acting_origin("502", greet=greet_uncredited, is_early=True, method="POST", body=BIG,
               is_warm=True)
def window_that_overflows_by_settings(end, stream):
    end.send(window(stream, 0x7fffffff - 70000), settings((WINDOW, 0x7fffffff)), good(stream))


# Ends of connections and streams.

def once(play):
    """Plays for the first attempt; the next one gets a response."""
    seen = []

    def either(end, stream):
        seen.append(stream)
        (play if len(seen) == 1 else play_good)(end, stream)

    return either


def goaway_and_close(end, _, code=NO_ERROR):
    end.send(goaway(0, code))
    end.stop()


def goaway_for_calm(end, stream):
    goaway_and_close(end, stream, ENHANCE_YOUR_CALM)


for repeated in ({"method": "GET"}, {"method": "POST", "body": b"content"}):
    for repeated_name, play_once in {
            "goaway-before-the-answer-to-": lambda end, s: end.send(goaway(0)),
            "goaway-and-close-before-the-answer-to-": goaway_and_close,
            "goaway-for-calm-before-the-answer-to-": goaway_for_calm,
            "refused-stream-of-": lambda end, s: end.send(reset(s, REFUSED_STREAM))}.items():
        ORIGINS.append(Entry(repeated_name + repeated["method"].lower(), "retried",
                             once(play_once), **repeated))
origin("refused-without-end", "502|retried|answer", lambda s: reset(s, REFUSED_STREAM))
origin("goaway-without-end", "502|retried|answer", lambda s: goaway(0))
origin("goaway-that-covers-the-answer", "answer", goaway, good)
origin("goaway-within-the-answer", "answer",
       lambda s: headers(s, [OK]), goaway, lambda s: data(s, b"fine", end=True))
origin("goaway-behind-the-answer", "answer", lambda s: good(s) + goaway(s))
origin("goaway-in-two-steps", "answer", lambda s: goaway(0x7fffffff), goaway, good)
origin("goaway-that-rises", "answer|502", lambda s: goaway(s), lambda s: goaway(0x7fffffff), good)
origin("goaway-with-words", "answer",
       lambda s: frame(GOAWAY, 0, 0, struct.pack(">II", s, 0) + b"words \r\n\0" * 100) + good(s))


@acting_origin("502")
def goaway_with_an_error(end, stream):
    end.send(goaway(stream, INTERNAL_ERROR))
    end.stop()


@acting_origin("cut")
def goaway_with_an_error_within_the_body(end, stream):
    end.send(headers(stream, [OK]), data(stream, b"fi"))
    time.sleep(0.1)
    end.send(goaway(stream, INTERNAL_ERROR))
    end.stop()


# The client's next request can start before the end arrives, so its channel may retry.
@acting_origin("answer", attempts=2, plays_once=True)
def closes_behind_the_answer(end, stream):
    end.send(good(stream))
    end.stop()


origin("cancelled-before-the-head", "502", lambda s: reset(s, CANCEL))
origin("reset-without-an-error", "502", lambda s: reset(s, NO_ERROR))
origin("reset-for-calm", "502", lambda s: reset(s, ENHANCE_YOUR_CALM))
origin("reset-for-http1", "502", lambda s: reset(s, HTTP_1_1_REQUIRED))
origin("reset-with-a-code-nobody-knows", "502", lambda s: reset(s, 0xfffffff0))
origin("reset-within-the-body", "cut",
       lambda s: headers(s, [OK]) + data(s, b"fi"), lambda s: reset(s, INTERNAL_ERROR))
origin("reset-without-an-error-within-the-body", "cut",
       lambda s: headers(s, [OK]) + data(s, b"fi"), lambda s: reset(s, NO_ERROR))
origin("refused-within-the-body", "cut",
       lambda s: headers(s, [OK]) + data(s, b"fi"), lambda s: reset(s, REFUSED_STREAM))
origin("reset-behind-the-answer", "answer", lambda s: good(s) + reset(s, NO_ERROR))
origin("answer-within-an-upload", "answer", lambda s: good(s) + reset(s, NO_ERROR),
       method="POST", body=BIG, is_early=True, greet=greet_closed, is_warm=True)


# The limit of concurrent requests.

def greet_full(end):
    end.send(settings((STREAMS, 0)))

    def raise_later():
        time.sleep(1)
        end.is_raised = True
        try:
            end.send(settings((STREAMS, 100)))
        except OSError:
            pass

    end.is_raised = False
    threading.Thread(target=raise_later, daemon=True).start()


@acting_origin("answer", greet=greet_full, attempts=2)
def no_streams_and_then_some(end, stream):
    # A request sent before the settings arrived is refused, as by a real origin.
    if getattr(end, "is_raised", True):
        play_good(end, stream)
    else:
        end.send(reset(stream, REFUSED_STREAM))


class Narrow:
    """Sends four requests at the same time to an origin that allows one stream, and counts the concurrent
    ones."""

    def __init__(self):
        self.lock, self.most = threading.Lock(), 0

    def greet(self, end):
        end.send(settings((STREAMS, 1)))

    def play(self, end, stream):
        # Requests sent at the same time arrive while this one waits.
        time.sleep(0.3)
        with end.changed:
            waiting = [each for number_, each in end.streams.items()
                       if number_ > stream and each.is_informed]
        with self.lock:
            self.most = max(self.most, 1 + len(waiting))
        play_good(end, stream)

    def drive(self, port, entry):
        # The limit is known after a response.
        with connect(port) as app:
            equal(ask(app, "GET", f"/{entry.name}/first").status, 200, "status of the first")
        answers = []

        def one():
            with connect(port) as app:
                answers.append(ask(app, "GET", f"/{entry.name}/one").status)

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        equal(answers, [200] * 4, "statuses of four at once")
        equal(self.most, 1, "streams at once")


NARROW = Narrow()
origin("one-stream-at-a-time", "answer", greet=NARROW.greet, drive=NARROW.drive)
ORIGINS[-1].play = NARROW.play


@acting_origin("504|502", errors=ERRORS + STALLS)
def says_nothing(end, stream):
    end.wait(lambda: end.stream(stream).reset is not None)


@acting_origin("cut")
def stands_still_within_the_body(end, stream):
    end.send(headers(stream, [OK]), data(stream, b"fi"))
    end.wait(lambda: end.stream(stream).reset is not None)


class Origins:
    """All hostile origins: each listens on its own address, on the same port."""

    def __init__(self, port, entries):
        self.entries = entries
        self.lock = threading.Lock()
        self.faults, self.peers = [], []
        self.selector = selectors.DefaultSelector()
        for entry in entries:
            listener = socket.create_server((address_of(entry), port))
            self.selector.register(listener, selectors.EVENT_READ, entry)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            for key, _ in self.selector.select():
                accepted, _ = key.fileobj.accept()
                threading.Thread(target=self.serve, args=(key.data, accepted), daemon=True).start()

    def serve(self, entry, accepted):
        with self.lock:
            entry.connections += 1
            is_first = entry.connections == 1
        end = Peer(accepted, is_origin=True)
        self.peers.append((entry, end))
        try:
            if entry.greet and (is_first or entry.drive):
                entry.greet(end)
            else:
                end.send(settings())
            end.begin()
            while stream := end.requests.get():
                self.answer(entry, end, stream)
        except OSError:
            pass
        except Failure as failure:
            with self.lock:
                self.faults.append((entry, str(failure)))
        accepted.close()

    def answer(self, entry, end, stream):
        path = end.stream(stream).field(":path") or b""
        if path.startswith(b"/good"):
            return end.send(good(stream))
        with self.lock:
            entry.plays += 1
        if not entry.is_early and not end.ended(stream):
            return None
        if not entry.is_early:
            equal(bytes(end.stream(stream).data), entry.body, "content at the origin")
        equal(end.stream(stream).field(":method"), octets(entry.method), "method at the origin")
        return entry.play(end, stream)

    def faults_of(self, entry):
        with self.lock:
            found = [fault for other, fault in self.faults if other is entry]
        return found + [fault for other, end in self.peers if other is entry
                        for fault in end.faults]


def address_of(entry):
    index = ORIGINS.index(entry)
    return f"127.0.{1 + index // 250}.{1 + index % 250}"


def channels(port):
    """Returns the output of `channels`."""
    return {entry.name: {"upstream": f"http://{address_of(entry)}:{port}",
                         "attempts": entry.attempts}
            for entry in ORIGINS}


# A strict HTTP/1.1 client.

class Answer:
    """One response as parsed by h11."""

    def __init__(self):
        self.status, self.fields, self.body = None, {}, b""
        self.is_whole = self.may_go_on = False
        self.error = None

    @property
    def errors(self):
        """Returns the error word of netproxy's own response, or none."""
        value = self.fields.get("proxy-status", "")
        return value.partition("error=")[2].partition(";")[0].strip()

    def __str__(self):
        return (f"{self.status} {self.errors} {self.body[:120]!r}"
                f"{'' if self.is_whole else ', cut: ' + str(self.error)}")


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def ask(app, method, target, body=b"", fields=(), pause=0):
    """Sends one request over the connection. Never raises because of the response."""
    connection, answer = h11.Connection(h11.CLIENT, 1 << 20), Answer()
    lines = [("Host", AUTHORITY), *fields]
    if body:
        lines.append(("Content-Length", str(len(body))))
    request = connection.send(h11.Request(method=method, target=target, headers=lines))
    request += (connection.send(h11.Data(data=body)) if body else b"")
    request += connection.send(h11.EndOfMessage())

    def upload():
        try:
            app.sendall(request)
        except OSError:
            pass

    sender = threading.Thread(target=upload, daemon=True)
    sender.start()
    time.sleep(pause)
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(app.recv(1 << 18))
            elif isinstance(event, h11.InformationalResponse):
                continue
            elif isinstance(event, h11.Response):
                answer.status = event.status_code
                answer.fields = {bytes(name).decode(): bytes(value).decode("latin-1")
                                 for name, value in event.headers}
            elif isinstance(event, h11.Data):
                answer.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                answer.is_whole = True
                sender.join(2)
                answer.may_go_on = connection.their_state is h11.DONE and not sender.is_alive()
                answer.error = connection.trailing_data[0] and "octets follow it"
                return answer
            else:
                raise EOFError(f"{event}")
    except (OSError, EOFError, h11.RemoteProtocolError) as error:
        answer.error = error
    return answer


def is_problem(answer, statuses, errors):
    return (answer.is_whole and answer.status in statuses
            and answer.fields.get("content-type", "").startswith("application/problem+json")
            and answer.errors in errors)


def fits(entry, answer):
    """Whether the response is one of those that the entry's verdict allows."""
    is_fine = (answer.is_whole and answer.status == entry.status
               and answer.body == entry.content and not answer.error)
    for word_ in entry.verdict:
        if (word_ == "502" and is_problem(answer, (502,), entry.errors)
                or word_ == "504" and is_problem(answer, (504,), STALLS)
                or word_ == "answer" and is_fine
                or word_ == "retried" and is_fine and entry.plays > 1
                or word_ == "cut" and (is_problem(answer, (502,), entry.errors)
                                       or answer.status == 200 and not answer.is_whole
                                       and not isinstance(answer.error, TimeoutError))):
            return True
    return False


def memory(pid):
    """Returns the peak resident memory of netproxy, in KiB; fails if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
    except FileNotFoundError:
        pass
    raise Failure("netproxy has ended")


def check_memory(pid, baseline):
    grown = memory(pid) - baseline
    check(grown < GROWTH, f"netproxy grew by {grown} KiB")


def plain_get(port, target, content):
    """Sends one request by http.client, on its own connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", target, headers={"Host": AUTHORITY})
        response = connection.getresponse()
        body = response.read()
        equal((response.status, body), (200, content), f"an ordinary request for {target}")
    except (OSError, http.client.HTTPException) as error:
        raise Failure(f"an ordinary request for {target}: {error!r}") from None
    finally:
        connection.close()


def try_origin(entry, origins, port):
    if entry.is_warm:
        plain_get(port, f"/{entry.name}/good", b"fine")
    started = time.monotonic()
    if entry.drive:
        entry.drive(port, entry)
    else:
        with connect(port) as app:
            answer = ask(app, entry.method, f"/{entry.name}/hostile", entry.body, entry.fields,
                         entry.pause)
            seconds = time.monotonic() - started
            check(fits(entry, answer), f"{'|'.join(entry.verdict)} expected: {answer}")
            check(seconds < SECONDS, f"it took {seconds:.1f} s")
            check("x-injected" not in answer.fields, f"a field was injected: {answer.fields}")
            check(entry.plays == 1 or not entry.plays_once, f"it was sent {entry.plays} times")
            if answer.may_go_on:
                again = ask(app, "GET", f"/{entry.name}/good")
                equal((again.status, again.body, again.is_whole), (200, b"fine", True),
                      f"the next on the same connection ({again})")
    plain_get(port, f"/{entry.name}/good", b"fine")
    faults = origins.faults_of(entry)
    check(not faults, f"at the origin: {faults}")


def try_origins(port, origin_port, pid, entries):
    origins = Origins(origin_port, entries)
    baseline = memory(pid)

    def one(entry):
        try_origin(entry, origins, port)
        check_memory(pid, baseline)

    return try_all(entries, one)


def try_all(entries, one):
    """Tries each entry while there is time; returns the number of failures."""
    failed, until = 0, time.monotonic() + TABLE_SECONDS
    for index, entry in enumerate(entries):
        started = time.monotonic()
        if started > until:
            print(f"{len(entries) - index} were not tried: the time is over", flush=True)
            return failed + len(entries) - index
        try:
            one(entry)
        except (Failure, OSError) as failure:
            failed += 1
            seconds = time.monotonic() - started
            print(f"{entry.name} ({seconds:.1f} s): {failure}", flush=True)
    print(f"{len(entries) - failed} of {len(entries)} were treated as they deserve", flush=True)
    return failed


# Hostile clients. The verdicts: `goaway`, the connection ends, with or without an error; `reset`, the stream
# is reset; `400`, the stream ends with one of the statuses or with PROTOCOL_ERROR; `answer`, 200; `alive`,
# the connection stays usable, regardless of the stream; `ended`, the client itself has disconnected, and only
# the received requests count. If the connection stays open, it is used again.

APPS = []


def asking(path, *extra, method="GET", scheme="http", authority=AUTHORITY):
    """Returns the fields of a request; fields with the value None are omitted."""
    pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    return [field for field in pseudo if field[1] is not None] + list(extra)


def app(name, verdict, piece_of, **options):
    """Registers a client that sends the result of the function for the path that its requests should have."""
    def play(end):
        end.send(piece_of("/orders/" + name))

    APPS.append(Entry(name, verdict, play, **options))


def acting_app(verdict, **options):
    """Registers a function of the peer and its path as a hostile app."""
    def register(play):
        name = play.__name__.replace("_", "-")
        APPS.append(Entry(name, verdict, lambda end: play(end, "/orders/" + name), **options))
        return play

    return register


def bad_request(name, *extra, verdict="400", end=True, content=b"", fields=None, **options):
    """Registers a client whose request has one fault in its head; the pseudo-fields are among the options."""
    pseudo = {key: options.pop(key) for key in ("method", "scheme", "authority", "path")
              if key in options}

    def piece_of(path):
        if fields is not None:
            head = fields(path)
        else:
            head = asking(pseudo.get("path", path), *extra,
                          **{key: value for key, value in pseudo.items() if key != "path"})
        return headers(1, head, end=end) + (b"" if end else data(1, content, end=True))

    app("request-" + name, verdict, piece_of, **options)


def get(stream, path, *extra):
    return headers(stream, asking(path, *extra), end=True)


def post(stream, path, *extra):
    return headers(stream, asking(path, *extra, method="POST"))


SMUGGLED = b"GET /orders/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"

# Prefaces.
app("preface-misspelt", "goaway",
    lambda path: PREFACE.replace(b"SM", b"SX") + settings() + get(1, path), is_bare=True)
app("preface-of-another-version", "goaway",
    lambda path: PREFACE.replace(b"2.0", b"2.1") + settings() + get(1, path), is_bare=True)
app("preface-with-bare-line-ends", "goaway",
    lambda path: PREFACE.replace(b"\r", b"") + settings() + get(1, path), is_bare=True)
app("preface-twice", "goaway", lambda path: PREFACE * 2 + settings() + get(1, path), is_bare=True)
app("preface-behind-a-request", "goaway",
    lambda path: (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode() + PREFACE
    + settings() + get(1, "/orders/smuggled"), is_bare=True, arrives="once")
app("preface-and-half", "goaway", lambda path: PREFACE[:12], is_bare=True)
app("preface-and-ping", "goaway",
    lambda path: PREFACE + frame(PING, 0, 0, bytes(8)) + get(1, path), is_bare=True)
app("preface-and-request-without-settings", "goaway",
    lambda path: PREFACE + get(1, path), is_bare=True)
app("preface-and-acknowledgement", "goaway",
    lambda path: PREFACE + frame(SETTINGS, ACK, 0) + get(1, path), is_bare=True)
app("preface-and-request-at-once", "answer",
    lambda path: PREFACE + settings() + get(1, path), is_bare=True)


@acting_app("ended", is_bare=True)
def preface_cut_short(end, path):
    end.send(PREFACE[:20])
    end.stop()


@acting_app("ended", is_bare=True)
def preface_and_half_a_request(end, path):
    end.send(PREFACE, settings(), get(1, path)[:30])
    end.stop()


@acting_app("answer", is_bare=True)
def everything_octet_by_octet(end, path):
    end.is_polite = False
    for octet in PREFACE + settings() + get(1, path):
        end.send(bytes((octet,)))


# Settings.
for bad_name, whole in BAD_SETTINGS.items():
    app(bad_name, "goaway", lambda path, whole=whole: whole)
app("settings-nobody-knows", "answer",
    lambda path: settings((0x4a4a, 1), (0xffff, 0xffffffff)) + get(1, path))
app("settings-table-of-nothing", "answer", lambda path: settings((TABLE_SIZE, 0)) + get(1, path))
app("settings-table-of-everything", "answer",
    lambda path: settings((TABLE_SIZE, 0xffffffff)) + get(1, path))
app("settings-table-up-and-down", "answer",
    lambda path: settings((TABLE_SIZE, 0), (TABLE_SIZE, 1 << 20)) + settings((TABLE_SIZE, 100))
    + get(1, path))
app("settings-list-of-nothing", "alive", lambda path: settings((LIST_SIZE, 1)) + get(1, path),
    arrives="once")
app("settings-push-one", "answer", lambda path: settings((ENABLE_PUSH, 1)) + get(1, path))

# Frames.
for bad_name, bad_piece in BAD_FRAMES.items():
    app(bad_name, "goaway",
        lambda path, bad_piece=bad_piece: post(1, path) + bad_piece(1), arrives="begun")
app("headers-over-the-limit", "goaway",
    lambda path: headers(1, [*asking(path), ("x", "y" * (1 << 21))], end=True))
app("data-over-the-limit", "goaway|reset",
    lambda path: post(1, path) + data(1, bytes(1 << 21), end=True), arrives="begun")
app("frames-nobody-knows", "answer",
    lambda path: frame(0x4a, 0xff, 0, b"x" * 100) + post(1, path) + frame(0xff, 0xff, 1, b"x" * 100)
    + data(1, end=True), method="POST")
app("flags-nobody-knows", "answer",
    lambda path: frame(HEADERS, END_HEADERS | END_STREAM | 0xd2, 1, block_of(asking(path))))
app("reserved-bit", "answer", lambda path: get(1 | 1 << 31, path))
app("highest-stream", "answer", lambda path: get(0x7fffffff, path), stream=0x7fffffff,
    goes_on=False)
app("window-of-the-stream-by-zero", "reset|goaway", lambda path: post(1, path) + window(1, 0),
    arrives="begun")
app("window-of-the-stream-overflows", "reset|goaway",
    lambda path: post(1, path) + window(1, 0x7fffffff), arrives="begun")
# By section 6.9.2 the connection ends; nghttp2 ends the stream.
app("window-overflows-by-settings", "goaway|reset",
    lambda path: post(1, path) + window(1, 0x7fffffff - 65535) + settings((WINDOW, 0x7fffffff)),
    arrives="begun", goes_on=False)
app("data-behind-the-end", "reset|goaway|answer",
    lambda path: get(1, path + "-slow") + data(1, SMUGGLED, end=True), arrives="once")
app("data-behind-a-reset", "alive|goaway",
    lambda path: post(1, path) + reset(1, CANCEL) + data(1, b"x", end=True), arrives="begun")
app("headers-behind-the-end", "reset|goaway|answer",
    lambda path: get(1, path + "-slow") + get(1, "/orders/smuggled"), arrives="once")
# nghttp2 silently drops a head on an earlier stream. RFC 9113 section 5.1.1 requires more, but there are no
# consequences.
app("stream-used-twice", "goaway|reset|alive",
    lambda path: get(3, path) + reset(3, CANCEL) + get(3, "/orders/smuggled"), stream=3,
    arrives="many")
app("even-stream", "goaway", lambda path: get(2, path))
app("falling-streams", "goaway|alive", lambda path: get(5, path) + get(3, "/orders/smuggled"),
    arrives="once")
app("data-padded", "answer",
    lambda path: post(1, path, ("content-length", "4"))
    + frame(DATA, PADDED, 1, b"\x05fi" + bytes(5)) + frame(DATA, PADDED, 1, b"\x00ne")
    + frame(DATA, PADDED | END_STREAM, 1, b"\xff" + bytes(255)), method="POST", body=b"fine")
app("data-padded-beyond-its-end", "goaway",
    lambda path: post(1, path) + frame(DATA, PADDED | END_STREAM, 1, b"\x05fine"), arrives="begun")
app("data-padded-without-a-length", "goaway",
    lambda path: post(1, path) + frame(DATA, PADDED | END_STREAM, 1), arrives="begun")
app("headers-padded", "answer",
    lambda path: frame(HEADERS, END_HEADERS | END_STREAM | PADDED | WITH_PRIORITY, 1,
                       b"\x03" + struct.pack(">IB", 0, 7) + block_of(asking(path)) + bytes(3)))
app("headers-padded-beyond-their-end", "goaway",
    lambda path: frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1,
                       b"\xff" + block_of(asking(path))))
app("headers-that-depend-on-themselves", "reset|goaway|400|answer",
    lambda path: frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1,
                       struct.pack(">IB", 1, 7) + block_of(asking(path))))
app("priority-of-four-octets", "reset|goaway",
    lambda path: post(1, path) + frame(PRIORITY, 0, 1, bytes(4)), arrives="begun")
app("priority-of-an-idle-stream", "answer", lambda path: priority(7, 5) + get(1, path))
app("push-promise", "goaway",
    lambda path: post(1, path)
    + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + block_of(asking(path))),
    arrives="begun")
app("goaway-and-a-request-under-way", "answer",
    lambda path: post(1, path) + goaway(0) + data(1, b"fine", end=True), method="POST",
    body=b"fine", goes_on=False)

# Header blocks.
app("continuation-behind-the-block", "goaway",
    lambda path: post(1, path) + continuation(1, literal("x", "y"), end=True), arrives="begun")
app("continuation-on-another-stream", "goaway",
    lambda path: headers(1, asking(path), end=True, flags=0) + continuation(3, end=True))
app("ping-within-a-header-block", "goaway",
    lambda path: headers(1, asking(path), end=True, flags=0) + frame(PING, 0, 0, bytes(8))
    + continuation(1, end=True))
app("request-within-a-header-block", "goaway",
    lambda path: headers(1, asking(path), end=True, flags=0) + get(3, "/orders/smuggled"))
app("unknown-frame-within-a-header-block", "goaway",
    lambda path: headers(1, asking(path), end=True, flags=0) + frame(0x4a, 0, 1)
    + continuation(1, end=True))
app("continuations-of-one-octet", "answer|goaway",
    lambda path: long_headers(1, asking(path), end=True, piece=1))
app("continuations-without-content", "answer",
    lambda path: headers(1, b"", end=True, flags=0) + continuation(1) * 3
    + continuation(1, block_of(asking(path)), end=True))


@acting_app("goaway|400", statuses=(400, 431))
def a_header_block_without_end(end, path):
    end.send(headers(1, asking(path), end=True, flags=0))
    end.flood(continuation(1, literal("x-flood", "v" * 1000)), 50000)


@acting_app("goaway")
def a_header_block_of_nothing_without_end(end, path):
    end.send(headers(1, asking(path), end=True, flags=0))
    end.flood(continuation(1), 200000)


@acting_app("goaway")
def a_header_block_that_stops(end, path):
    end.send(headers(1, asking(path), end=True, flags=0))


for bad_name, bad_block in BAD_BLOCKS.items():
    app("block-" + bad_name, "goaway",
        lambda path, bad_block=bad_block: headers(1, block_of(asking(path)) + bad_block, end=True))
app("block-with-table-sizes-in-front", "answer",
    lambda path: headers(1, table_size(0) + table_size(4096) + block_of(asking(path)), end=True))
app("block-that-is-a-bomb", "goaway|400|reset",
    lambda path: long_headers(1, block_of(asking(path)) + BOMB, end=True), statuses=(400, 431))
app("block-with-a-large-list", "goaway|400|reset",
    lambda path: long_headers(1, asking(path, *LARGE_LIST), end=True), statuses=(400, 431))
app("block-with-many-fields", "goaway|400|reset",
    lambda path: long_headers(1, asking(path, *MANY_FIELDS), end=True), statuses=(400, 431))
app("block-with-101-fields", "400",
    lambda path: long_headers(1, asking(path, *MANY_FIELDS[:101]), end=True), statuses=(431,))
app("block-of-20-kilobytes", "400",
    lambda path: long_headers(1, asking(path, ("x", "y" * 20000)), end=True), statuses=(431,))


@acting_app("answer", stream=3)
def a_table_that_stays_in_step(end, path):
    """The rest of a head that is too large is also decoded: the next head refers to it."""
    fields = block_of(asking("/orders/too-large", ("x", "y" * 20000)))
    end.send(long_headers(1, fields + literal("x-in-step", "yes", 0x40), end=True))
    end.send(headers(3, block_of(asking(path)) + b"\xbe", end=True))


def demands_step(request):
    equal(request.value("x-in-step"), "yes", "the field by its index")


APPS[-1].demands = demands_step

# Heads.
bad_request("without-a-method", method=None)
bad_request("without-a-scheme", scheme=None)
bad_request("without-a-path", path=None)
bad_request("without-an-authority", authority=None)
bad_request("without-anything", fields=lambda path: [])
bad_request("with-two-methods", (":method", "GET"))
bad_request("with-two-paths", (":path", "/orders/smuggled"))
bad_request("with-two-authorities", (":authority", AUTHORITY))
bad_request("with-a-pseudo-field-behind-others",
            fields=lambda path: [*asking(path)[:3], ("x", "y"), (":path", path)])
bad_request("with-a-pseudo-field-of-its-own", (":version", "HTTP/1.1"))
bad_request("with-a-status", (":status", "200"))
bad_request("with-a-pseudo-field-in-capitals",
            fields=lambda path: [(":Method", "GET"), *asking(path)[1:]])
bad_request("with-an-empty-method", method="")
bad_request("with-a-space-in-the-method", method="GET /orders/smuggled HTTP/1.1\r\nx:")
bad_request("with-a-line-end-in-the-method", method="GET\r\n")
bad_request("with-a-colon-in-the-method", method="GE:T")
bad_request("with-an-empty-path", path="")
bad_request("with-a-path-without-its-slash", path="orders/x")
bad_request("with-a-star-for-get", path="*", statuses=(400, 404))
bad_request("with-an-absolute-path", path="http://localhost/orders/smuggled")
bad_request("with-a-fragment", path="/orders/x#fragment")
bad_request("with-a-space-in-the-path", path="/orders/x y")
bad_request("with-a-version-in-the-path", path="/orders/smuggled HTTP/1.1")
bad_request("with-a-message-in-the-path",
            path="/orders/x HTTP/1.1\r\nHost: localhost\r\n\r\nGET /orders/smuggled")
bad_request("with-a-line-end-in-the-path", path="/orders/x\r\nx-injected: 1")
bad_request("with-a-tab-in-the-path", path="/orders/x\ty")
bad_request("with-nul-in-the-path", path="/orders/x\0y")
bad_request("with-a-path-of-9000-octets", path="/orders/" + "x" * 9000, statuses=(414,))
bad_request("with-an-empty-scheme", scheme="")
bad_request("with-a-line-end-in-the-scheme", scheme="http\r\nx-injected: 1")
bad_request("with-a-host-in-the-scheme", scheme="http://localhost/orders/smuggled?")
bad_request("with-an-empty-authority", authority="")
bad_request("with-a-user-in-the-authority", authority="user:secret@localhost")
bad_request("with-a-path-in-the-authority", authority="localhost/orders/smuggled")
bad_request("with-a-space-in-the-authority", authority="localhost x")
bad_request("with-a-line-end-in-the-authority", authority="localhost\r\nx-injected: 1")
bad_request("with-a-port-in-words", authority="localhost:http")
bad_request("with-a-foreign-authority", authority="attacker.example",
            statuses=(400, 403, 404, 421))
bad_request("with-another-host", ("host", "other.localhost"))
bad_request("with-two-hosts", ("host", "localhost"), ("host", "localhost"))
bad_request("with-the-same-host", ("host", "localhost"), verdict="answer")
bad_request("with-a-host-alone", ("host", "localhost"), authority=None, verdict="answer")
for bad_name, bad_field in BAD_FIELDS.items():
    bad_request("with-" + bad_name, bad_field)
bad_request("with-te-gzip", ("te", "gzip"))
bad_request("with-te-trailers-and-more", ("te", "trailers, deflate"))
bad_request("with-te-trailers", ("te", "trailers"), verdict="answer")
bad_request("with-an-expectation", ("expect", "100-continue"), ("content-length", "4"),
            verdict="answer", method="POST", end=False, content=b"fine", body=b"fine")
APPS[-1].method = "POST"
bad_request("with-crumbs-of-a-cookie", ("cookie", "a=1"), ("cookie", "b=2"), verdict="answer",
            demands=lambda request: equal(request.value("cookie"), "a=1; b=2", "Cookie"))
bad_request("by-connect-without-a-tunnel", method="CONNECT", path=None, scheme=None,
            authority="localhost:80", end=False, statuses=(400, 403, 404, 405, 501))
bad_request("by-connect-with-a-path", method="CONNECT", end=False)
bad_request("by-extended-connect", (":protocol", "websocket"), method="CONNECT", end=False)
bad_request("by-get-with-a-protocol", (":protocol", "websocket"))

# Lengths, and fields of HTTP/1.1 that they may contain.
for bad_name, lengths in {
        "in-words": ["four"], "empty": [""], "negative": ["-4"], "with-a-sign": ["+4"],
        "hexadecimal": ["0x4"], "beyond-64-bits": ["18446744073709551620"],
        "two-that-differ": ["4", "5"], "a-list-that-differs": ["4, 5"]}.items():
    bad_request("with-a-length-" + bad_name, *(("content-length", each) for each in lengths),
                method="POST", end=False, content=b"fine")
app("length-twice", "answer|400",
    lambda path: post(1, path, *[("content-length", "4")] * 2) + data(1, b"fine", end=True),
    method="POST", body=b"fine")
app("length-beyond-the-content", "400|reset",
    lambda path: post(1, path, ("content-length", "10")) + data(1, b"fine", end=True),
    arrives="begun")
app("length-below-the-content", "400|reset",
    lambda path: post(1, path, ("content-length", "2")) + data(1, SMUGGLED, end=True),
    arrives="begun")
app("length-of-nothing-with-content", "400|reset",
    lambda path: post(1, path, ("content-length", "0")) + data(1, SMUGGLED, end=True),
    arrives="once", demands=lambda request: equal(request.body, b"", "content at the origin"))
app("length-without-content", "400",
    lambda path: headers(1, asking(path, ("content-length", "4"), method="POST"), end=True))
app("length-without-content-of-get", "400", lambda path: get(1, path, ("content-length", "4")))
app("chunked-content-with-a-request", "400",
    lambda path: post(1, path, ("transfer-encoding", "chunked"))
    + data(1, b"0\r\n\r\n" + SMUGGLED, end=True))
app("content-that-is-a-request", "answer",
    lambda path: post(1, path) + data(1, SMUGGLED, end=True), method="POST", body=SMUGGLED)
app("content-that-is-a-last-chunk", "answer",
    lambda path: post(1, path) + data(1, b"0\r\n\r\n" + SMUGGLED, end=True), method="POST",
    body=b"0\r\n\r\n" + SMUGGLED)
app("content-of-get", "answer",
    lambda path: headers(1, asking(path)) + data(1, SMUGGLED, end=True), body=SMUGGLED)


@acting_app("ended", arrives="begun")
def closes_within_an_upload(end, path):
    end.send(post(1, path, ("content-length", "10")), data(1, b"fine"))
    time.sleep(0.2)
    end.stop()


@acting_app("alive", arrives="begun")
def cancels_an_upload(end, path):
    end.send(post(1, path), data(1, b"fine"))
    time.sleep(0.2)
    end.send(reset(1, CANCEL))


@acting_app("answer", method="POST", body=BIG[:40000], arrives="many")
def two_uploads_interleaved(end, path):
    end.send(post(1, path), post(3, path))
    for at in range(0, 30000, 1000):
        end.send(data(1, BIG[at:at + 1000]), data(3, BIG[at:at + 1000]))
    end.send(data(3, BIG[30000:40000], end=True), data(1, BIG[30000:40000], end=True))
    check(end.ended(3), "the other upload has no answer")


# Trailers.


def trailing_app(name, verdict, *sections, end=True, **options):
    app("trailers-" + name, verdict,
        lambda path: post(1, path) + data(1, b"fine")
        + b"".join(headers(1, each, end=end and index == len(sections) - 1)
                   for index, each in enumerate(sections)),
        **{"method": "POST", "body": b"fine",
           "arrives": "exactly" if verdict == "answer" else
           "once" if "answer" in verdict else "begun", **options})


trailing_app("of-the-usual-kind", "answer", [("x-checksum", "1")])
trailing_app("that-are-empty", "answer", [])
trailing_app("with-a-path", "400|reset", [(":path", "/orders/smuggled")])
trailing_app("without-end", "400|reset", [("x", "y")], end=False)
trailing_app("twice", "400|reset|goaway", [("x", "y")], [("x", "y")])
trailing_app("with-a-length", "400|reset|answer", [("content-length", "400")])
trailing_app("with-a-host", "400|reset|answer", [("host", "other.localhost")])
trailing_app("with-a-coding", "400|reset", [("transfer-encoding", "chunked")])
trailing_app("with-a-line-end", "400|reset", [("x", "y\r\n\r\n" + SMUGGLED.decode())])
app("trailers-and-then-content", "400|reset|goaway",
    lambda path: post(1, path) + headers(1, [("x", "y")]) + data(1, b"fine", end=True),
    arrives="begun")

# Windows.


@acting_app("answer", stream=3, arrives="many")
def a_window_that_never_opens(end, path):
    end.send(settings((WINDOW, 0)), get(1, path + "-big"), get(3, path), window(3, 100))
    check(end.ended(3), "another stream has no answer")
    check(not end.stream(1).data, "netproxy sent what the window had no room for")
    end.send(reset(1, CANCEL))


@acting_app("answer", arrives="exactly")
def a_window_opened_octet_by_octet(end, path):
    end.send(settings((WINDOW, 0)), get(1, path))
    for count in range(1, 5):
        end.send(window(1, 1))
        check(end.wait(lambda: len(end.stream(1).data) >= count, 5),
              f"netproxy left a window of {count} octets unused")
        equal(len(end.stream(1).data), count, "octets in a window of that many")


@acting_app("answer", arrives="exactly")
def a_window_below_zero(end, path):
    end.send(settings((WINDOW, 50000)), get(1, path + "-big"))
    check(end.wait(lambda: len(end.stream(1).data) == 50000, 5), "the first window is unused")
    acks = end.acks
    end.send(settings((WINDOW, 10)), window(0, 1 << 21))
    check(end.wait(lambda: end.acks > acks, 5), "the settings were not acknowledged")
    end.send(window(1, 49990))
    time.sleep(0.2)
    equal(len(end.stream(1).data), 50000, "octets in a window that was lowered")
    end.send(window(1, 1 << 21))
    check(end.ended(1), "the answer did not end in a wide window")
    check(bytes(end.stream(1).data) == BIG, "content that arrived")


@acting_app("answer", stream=3, arrives="many")
def a_connection_window_that_is_used_up(end, path):
    """One stream has used up the connection's window; frames that need no window continue."""
    end.send(settings((WINDOW, 1 << 20)), get(1, path + "-big"))
    check(end.wait(lambda: len(end.stream(1).data) == 65535, 5), "the window is unused")
    end.send(headers(3, asking(path, method="HEAD"), end=True))
    check(end.wait(lambda: end.stream(3).status == 200, 5), "an answer without content waits")
    end.send(window(0, 1 << 21))
    check(end.ended(1), "the large answer did not end")
    check(bytes(end.stream(1).data) == BIG, "content that arrived")


APPS[-1].content = b""


@acting_app("reset|goaway", arrives="begun")
def an_upload_beyond_the_window(end, path):
    end.send(post(1, path + "-stall"))
    end.flood(data(1, bytes(16384)), 6000)


# Floods.

def flooding_app(name, piece_of, count, before=None, after=None, **options):
    def play(end):
        path = "/orders/flood-of-" + name
        if before:
            end.send(before(path))
        if callable(piece_of):
            end.flood(piece_of(path), count)
        if after:
            end.send(after(path))

    APPS.append(Entry("flood-of-" + name, "alive|goaway", play,
                      **{"arrives": "many", "goes_on": False, **options}))


flooding_app("settings", lambda path: settings((WINDOW, 65535)), 20000)
flooding_app("settings-that-change",
             lambda path: settings((TABLE_SIZE, 0), (WINDOW, 1), (WINDOW, 65535)), 20000)
flooding_app("pings", lambda path: frame(PING, 0, 0, bytes(8)), 50000)
flooding_app("empty-data", lambda path: data(1), 50000, before=lambda path: post(1, path),
             after=lambda path: data(1, end=True))
flooding_app("priorities", lambda path: priority(1, 3), 50000)
flooding_app("resets-of-a-closed-stream", lambda path: reset(1, CANCEL), 50000,
             before=lambda path: get(1, path))
flooding_app("window-updates", lambda path: window(0, 1), 50000)
flooding_app("unknown-frames", lambda path: frame(0x4a, 0, 0, bytes(100)), 50000)


@acting_app("goaway|alive", arrives="many")
def rapid_reset(end, path):
    for stream in range(1, 10001, 100):
        end.send(*(get(each, path) + reset(each, CANCEL)
                   for each in range(stream, stream + 100, 2)))


@acting_app("goaway|alive", arrives="many")
def rapid_reset_by_netproxy(end, path):
    """Each request is refused by a reset that the client provokes."""
    for stream in range(1, 10001, 100):
        end.send(*(post(each, path) + window(each, 0) for each in range(stream, stream + 100, 2)))


@acting_app("goaway|alive", arrives="many")
def requests_that_are_malformed_without_end(end, path):
    for stream in range(1, 10001, 100):
        end.send(*(get(each, path, ("connection", "close"))
                   for each in range(stream, stream + 100, 2)))


@acting_app("reset|goaway", arrives="many", stream=19999)
def streams_without_end(end, path):
    for stream in range(1, 20001, 100):
        end.send(*(post(each, path) for each in range(stream, stream + 100, 2)))


@acting_app("ended", arrives="many")
def pings_whose_answers_nobody_reads(end, path):
    end.is_polite = False
    end.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    end.may_read.clear()
    end.flood(frame(PING, 0, 0, bytes(8)), 10000000, seconds=3)
    end.may_read.set()


class Request:
    """One request as parsed by h11 at the origin behind the hostile clients."""

    def __init__(self, event):
        self.method, self.target = bytes(event.method).decode(), bytes(event.target).decode()
        self.fields = [(bytes(name).decode(), bytes(value).decode("latin-1"))
                       for name, value in event.headers]
        self.body, self.is_complete = b"", False

    def value(self, name):
        return ", ".join(value for other, value in self.fields if other == name)

    def __str__(self):
        return f"{self.method} {self.target}{'' if self.is_complete else ' (begun)'}"


class Recorder:
    """An ordinary HTTP/1.1 origin that records every request parsed by h11."""

    def __init__(self, port):
        self.lock = threading.Lock()
        self.requests, self.faults = [], []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=512)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            accepted, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(accepted,), daemon=True).start()

    def serve(self, accepted):
        connection = h11.Connection(h11.SERVER, 1 << 17)
        try:
            with accepted:
                while self.serve_one(accepted, connection):
                    connection.start_next_cycle()
        except OSError:
            pass
        except h11.RemoteProtocolError as error:
            # The end of a connection within a message is not a malformed message.
            if "unclean" not in str(error) and "without sending complete" not in str(error):
                with self.lock:
                    self.faults.append(str(error))

    def serve_one(self, accepted, connection):
        """Serves one request; returns whether another may follow on the connection."""
        request = None
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    accepted.sendall(connection.send(h11.InformationalResponse(
                        status_code=100, headers=[])))
                connection.receive_data(accepted.recv(65536))
            elif isinstance(event, h11.Request):
                request = Request(event)
                with self.lock:
                    self.requests.append(request)
                if request.target.endswith("-stall"):
                    time.sleep(SECONDS)
            elif isinstance(event, h11.Data):
                request.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                with self.lock:
                    request.is_complete = True
                self.answer(accepted, connection, request)
                return connection.our_state is h11.DONE and connection.their_state is h11.DONE
            else:
                return False

    @staticmethod
    def answer(accepted, connection, request):
        if request.target.endswith("-slow"):
            time.sleep(0.5)
        content = BIG if request.target.endswith("-big") else b"fine"
        status = 405 if request.method == "CONNECT" else 200
        head = connection.send(h11.Response(
            status_code=status, headers=[("Content-Length", str(len(content)))]))
        accepted.sendall(head)
        if request.method != "HEAD":
            accepted.sendall(connection.send(h11.Data(data=content)))
        accepted.sendall(connection.send(h11.EndOfMessage()))

    def since(self, mark):
        with self.lock:
            return self.requests[mark:]

    def mark(self):
        with self.lock:
            return len(self.requests)


class Judge:
    """Runs the hostile clients, and checks the reactions of netproxy and of the origin behind it."""

    def __init__(self, port, recorder):
        self.port, self.recorder = port, recorder
        self.serial = 0
        # Clients whose requests can still be on their way to the origin.
        self.tardy = []

    def word(self, kind):
        self.serial += 1
        return f"/ordinary-{kind}-{self.serial}"

    def try_app(self, entry):
        started, mark = time.monotonic(), self.recorder.mark()
        end = Peer(connect(self.port))
        end.begin()
        ordinary = []
        try:
            if not entry.is_bare:
                end.greet()
            try:
                entry.play(end)
            except OSError:
                # Closed by netproxy, which can be correct.
                pass
            self.judge(entry, end, ordinary)
            seconds = time.monotonic() - started
            check(seconds < SECONDS, f"it took {seconds:.1f} s")
            check(not end.faults, f"from netproxy: {end.faults[:3]}")
        finally:
            end.stop()
        ordinary += [self.word("1"), self.word("2")]
        plain_get(self.port, "/orders" + ordinary[-2], b"fine")
        ordinary_h2(self.port, "/orders" + ordinary[-1])
        self.look_at_arrivals(entry, self.recorder.since(mark), ordinary)

    def judge(self, entry, end, ordinary):
        """Waits until one of the verdict's words applies, and uses the connection again."""
        stream = end.stream(entry.stream)
        tests = {
            "goaway": lambda: end.is_closed or end.goaway,
            "reset": lambda: stream.reset is not None,
            "400": lambda: stream.status in entry.statuses or stream.reset == PROTOCOL_ERROR,
            "answer": lambda: stream.status == 200 and stream.is_ended,
            "ended": lambda: True,
        }
        words = [word_ for word_ in entry.verdict if word_ in tests]
        if "alive" in entry.verdict:
            if not end.is_closed and not end.goaway and self.is_usable(end, ordinary):
                return
            check(words, f"the connection cannot be used any more: {seen(end, stream)}")
        check(end.wait(lambda: any(tests[word_]() for word_ in words), SECONDS - 1),
              f"{'|'.join(entry.verdict)} expected: {seen(end, stream)}")
        if entry.verdict == ["answer"] and entry.content and not stream.data == BIG:
            equal(bytes(stream.data), entry.content, "content")
        if entry.goes_on and words != ["ended"] and not tests["goaway"]():
            check(self.is_usable(end, ordinary) or "goaway" in words and tests["goaway"](),
                  f"the connection cannot be used any more: {seen(end, stream)}")

    def is_usable(self, end, ordinary):
        """Whether another request on the connection gets its response."""
        ordinary.append(self.word("next"))
        number_ = 0x10001
        try:
            end.send(get(number_, "/orders" + ordinary[-1]), window(number_, 100), window(0, 100))
        except OSError:
            return False
        return end.ended(number_, 5) and end.stream(number_).status == 200

    def look_at_arrivals(self, entry, arrived, ordinary):
        faults = self.recorder.faults
        check(not faults, f"h11 at the origin: {faults}")
        path = "/" + entry.name
        own = [each for each in arrived if not each.target.startswith("/ordinary-")
               and (each.target.startswith(path) or not each.target.startswith(tuple(self.tardy)))]
        text = [str(each) for each in own]
        if entry.arrives != "never":
            self.tardy.append(path)
        for request in own:
            check(request.target.startswith(path), f"arrived at the origin: {text}")
            check(not request.value("x-injected"), f"a field was injected: {request.fields}")
        complete = [each for each in own if each.is_complete]
        if entry.arrives in ("never", "begun"):
            check(not complete, f"arrived at the origin: {text}")
        if entry.arrives == "never":
            check(not own, f"began at the origin: {text}")
        if entry.arrives == "exactly":
            equal(len(complete), 1, f"requests at the origin {text}")
        if entry.arrives in ("once", "exactly", "begun"):
            check(len(own) <= 1, f"arrived at the origin: {text}")
        for request in complete:
            if "answer" in entry.verdict and request.method != "HEAD":
                equal(request.method, entry.method, "method at the origin")
                equal(request.body, entry.body, "content at the origin")
            if entry.demands:
                entry.demands(request)
            equal(len([1 for name, _ in request.fields if name == "host"]), 1, "Host fields")
        for target in ordinary:
            count = sum(each.target == target for each in arrived)
            check(count <= 1, f"{target} arrived {count} times")


def seen(end, stream):
    words = [f"status {stream.status}" if stream.heads else "no head",
             f"reset {stream.reset}" if stream.reset is not None else "no reset",
             f"goaway {end.goaway}" if end.goaway is not None else "no goaway",
             "closed" if end.is_closed else "open"]
    return ", ".join(words) + (f", {end.text[:80]!r}" if end.text else "")


def ordinary_h2(port, target):
    """Sends one request with h2, which parses the response strictly."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    connection.send_headers(1, asking(target), end_stream=True)
    status, content = None, b""
    with connect(port) as app_:
        try:
            app_.sendall(connection.data_to_send())
            while piece := app_.recv(65536):
                for event in connection.receive_data(piece):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = dict(event.headers)[":status"]
                    elif isinstance(event, h2.events.DataReceived):
                        content += event.data
                    elif isinstance(event, h2.events.StreamEnded):
                        equal((status, content), ("200", b"fine"), f"an ordinary {target} by h2")
                        return
                    elif isinstance(event, h2.events.StreamReset):
                        raise Failure(f"an ordinary {target} by h2: reset {event.error_code}")
                app_.sendall(connection.data_to_send())
        except (OSError, h2.exceptions.ProtocolError) as error:
            raise Failure(f"an ordinary {target} by h2: {error!r}") from None
    raise Failure(f"an ordinary {target} by h2: the connection ended with status {status}")


def try_apps(port, origin_port, pid, entries):
    recorder = Recorder(origin_port)
    judge = Judge(port, recorder)
    baseline = memory(pid)

    def one(entry):
        judge.try_app(entry)
        check_memory(pid, baseline)

    failed = try_all(entries, one)
    smuggled = [str(each) for each in recorder.since(0) if "smuggled" in each.target]
    if smuggled:
        print(f"smuggled: {smuggled}")
    return failed + len(smuggled)


def main():
    if sys.argv[1] == "channels":
        print(json.dumps(channels(int(sys.argv[2]))))
        return 0
    scenario, names = sys.argv[1], sys.argv[5:]
    port, origin_port, pid = map(int, sys.argv[2:5])
    table, attempt = (ORIGINS, try_origins) if scenario == "origins" else (APPS, try_apps)
    entries = [entry for entry in table if not names or entry.name in names]
    return 1 if attempt(port, origin_port, pid, entries) else 0


if __name__ == "__main__":
    sys.exit(main())
