#!/usr/bin/env python3
"""Writes first inputs for the fuzzers below a directory:  seed.py DIRECTORY

Heads, bodies and targets come from the cases of Tests/HTTP1Tests/Corpus.
"""

import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))
sys.dont_write_bytecode = True

import corpus  # noqa: E402

CHALLENGES = [
    b'Bearer realm="api", error="invalid_token", error_description="The token, expired"',
    b'Basic realm="a\\"b", charset="UTF-8", Bearer scope="a b"', b"Negotiate dG9rZW4=",
    b'Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"',
    b"Negotiate, , Basic realm=x", b'DPoP algs="ES256", error="use_dpop_nonce"', b"", b",,,",
]


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + payload)


def literal(name, value):
    """A field of HPACK that is not indexed."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


REQUEST = b"\x82\x86\x84" + literal(b":authority", b"a") + literal(b"x-field", b"value")
RESPONSE = b"\x88" + literal(b"content-length", b"5")
SETTINGS = frame(4, 0, 0)
FRAMES = [
    SETTINGS, SETTINGS + frame(4, 1, 0),
    SETTINGS + frame(1, 5, 1, REQUEST), SETTINGS + frame(1, 4, 1, RESPONSE) + frame(0, 1, 1, b"hello"),
    SETTINGS + frame(1, 4, 1, b"\x88") + frame(0, 0, 1, b"hello")
    + frame(1, 5, 1, literal(b"grpc-status", b"0")),
    SETTINGS + frame(1, 0, 1, REQUEST[:5]) + frame(9, 4, 1, REQUEST[5:]),
    SETTINGS + frame(8, 0, 0, b"\0\0\1\0") + frame(6, 0, 0, bytes(8)) + frame(7, 0, 0, bytes(8)),
    SETTINGS + frame(1, 5, 1, REQUEST) + frame(3, 0, 1, b"\0\0\0\x08") + frame(2, 0, 3, bytes(5)),
    SETTINGS + frame(1, 5, 1, b"\x48\x03103") + frame(1, 5, 1, RESPONSE),
]


def write(directory, name, data):
    folder = os.path.join(directory, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, hashlib.sha256(data).hexdigest()[:16]), "wb") as file:
        file.write(data)


def main():
    directory = sys.argv[1]
    for case in corpus.cases():
        if len(case.raw) > 4096:
            continue
        head, _, body = case.raw.partition(b"\r\n\r\n")
        write(directory, "Request" if case.direction == "request" else "Response", case.raw)
        if b"chunked" in head:
            write(directory, "Chunked", body)
        words = case.raw.split(b"\r\n")[0].split(b" ")
        if case.direction == "request" and len(words) > 1:
            write(directory, "Target", words[1])
    for challenge in CHALLENGES:
        write(directory, "Challenge", challenge)
    for data in FRAMES:
        write(directory, "HTTP2App", data)
        write(directory, "HTTP2Origin", data)
    with open(os.path.join(HERE, "..", "..", "config", "netproxy.example.yaml"), "rb") as file:
        example = file.read()
    included = (
        b"include: [conf.d/orders.yaml, sixth.yaml]\n"
        b"channels: { orders: { match: { path: / } } }\n"
    )
    for data in [example, example[:4000], *example.split(b"\n\n"), included]:
        write(directory, "Configuration", data[:4096])


if __name__ == "__main__":
    main()
