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
