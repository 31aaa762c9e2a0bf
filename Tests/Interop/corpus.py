"""Reads the raw cases of Tests/HTTP1Tests/Corpus, and creates damaged copies."""

import glob
import os
import random
import re

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "HTTP1Tests", "Corpus")
ESCAPE = re.compile(rb"\\(?:\*(\d+)\{([^}]*)\}|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
LETTERS = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0"}
SPLICES = [
    b"\r\n", b"\r", b"\n", b"\0", b" ", b"\t", b",", b";", b":", b"\x0b", b"\xff", b"0", b"+",
    b"\r\n\r\n", b"0\r\n\r\n", b"\r\nContent-Length: 1", b"\r\nContent-Length: 5",
    b"\r\nTransfer-Encoding: chunked", b"\r\nHost: b", b"\r\nConnection: close", b"HTTP/1.1",
    b"\r\n ", b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
]


class Case:
    """One case: its sender (`request`, `response GET`, ...), name, bytes and verdict."""

    def __init__(self, direction, name, raw, verdict):
        self.direction, self.name, self.raw, self.verdict = direction, name, raw, verdict


def unescaped(text):
    def replace(match):
        count, piece, number, letter = match.groups()
        if count:
            return unescaped(piece) * int(count)
        return bytes([int(number, 16)]) if number else LETTERS.get(letter, letter)

    return ESCAPE.sub(replace, text)


def cases():
    """Returns the cases of all files, in a fixed order."""
    found = []
    for path in sorted(glob.glob(os.path.join(DIRECTORY, "*.http"))):
        with open(path, "rb") as file:
            blocks = file.read().split(b"\n\n")
        for block in blocks:
            lines = [line for line in block.split(b"\n") if line and not line.startswith(b"#")]
            if not lines:
                continue
            direction, name = lines[0].decode().split(": ", 1)
            raw = b"".join(unescaped(line[1:]) + (b"\r\n" if line[:1] == b"|" else b"")
                           for line in lines[1:] if line[:1] in (b"|", b">"))
            verdict = [line[2:].decode() for line in lines[1:] if line[:1] == b"="]
            topic = os.path.basename(path)[:-5]
            found.append(Case(direction, f"{topic}: {name}", raw, verdict))
    return found


def mutants(originals, count, seed=1):
    """Yields the given number of damaged copies, the same in every run."""
    source = random.Random(seed)
    damaged = []
    small = [case for case in originals if 0 < len(case.raw) < 400]
    while len(damaged) < count:
        case = source.choice(small)
        raw = bytearray(case.raw)
        for _ in range(source.randint(1, 3)):
            place = source.randrange(len(raw) + 1)
            kind = source.randrange(5)
            if kind == 0 and place < len(raw):
                raw[place] = source.randrange(256)
            elif kind == 1:
                del raw[place:place + source.randint(1, 3)]
            elif kind == 2:
                raw[place:place] = raw[place:place + source.randint(1, 8)]
            elif kind == 3:
                raw[place:place] = source.choice(small).raw[:source.randint(1, 60)]
            else:
                raw[place:place] = source.choice(SPLICES)
        damaged.append(Case(case.direction, f"{case.name}, damaged {len(damaged)}",
                            bytes(raw), None))
    return damaged
