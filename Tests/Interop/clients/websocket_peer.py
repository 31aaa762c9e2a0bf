#!/usr/bin/env python3
"""Both ends of a WebSocket, with the `websockets` package.

    websocket_peer.py serve PORT [CERTIFICATE KEY]
    websocket_peer.py check URL [PROXY]

`check` prints its observations as JSON; they must be equal for connections with and without a proxy.
"""

import hashlib
import json
import ssl
import sys

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve

LENGTHS = (0, 125, 126, 65535, 65536, 4 << 20)
CLOSES = ((1000, ""), (1001, "going away"), (4000, "our own"), (3999, "x" * 120))


def answer(socket):
    """Sends every message back; some words have a special meaning."""
    for message in socket:
        if message == "close 4321":
            socket.close(4321, "as you wish")
        elif message == "fragments":
            socket.send(["one ", "two ", "three"])
        elif message == "headers":
            names = ("Authorization", "Sec-WebSocket-Extensions", "Connection", "Upgrade")
            socket.send(json.dumps({name: socket.request.headers.get_all(name) for name in names}))
        elif message == "push":
            for number in range(50):
                socket.send(str(number))
        else:
            socket.send(message)


def refuse(connection, request):
    if request.path.endswith("/refused"):
        return connection.respond(403, "not here\n")
    return None


def run_server(port, *pair):
    context = None
    if pair:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
    with serve(answer, "127.0.0.1", port, ssl=context, max_size=8 << 20,
               process_request=refuse, subprotocols=["chat.v2", "chat.v1"]) as server:
        server.serve_forever()


def fingerprint(data):
    text = data.encode() if isinstance(data, str) else data
    return [type(data).__name__, len(text), hashlib.sha256(text).hexdigest()[:16]]


def run_checks(url, proxy):
    seen = {}

    def open_socket(path="", **options):
        return connect(url + path, proxy=proxy, max_size=8 << 20, ping_interval=None,
                       open_timeout=20, close_timeout=10, subprotocols=["chat.v1"], **options)

    for compression in ("deflate", None):
        with open_socket(compression=compression) as socket:
            name = f"compression {compression}"
            headers = socket.response.headers
            seen[name] = [headers.get("Sec-WebSocket-Extensions"), socket.subprotocol,
                          headers.get_all("Connection"), headers.get_all("Upgrade")]
            for length in LENGTHS:
                # Half of it is compressible.
                block = hashlib.sha512(str(length).encode()).digest() + b"\0" * 64
                data = (block * (length // 128 + 1))[:length]
                socket.send(data)
                back = socket.recv(timeout=30)
                seen[f"{name}, {length} bytes"] = [fingerprint(back), back == data]
                text = "é" * (length // 2)
                socket.send(text)
                seen[f"{name}, {length} of text"] = socket.recv(timeout=30) == text
            socket.send(["frag", "men", "", "ted"])
            seen[f"{name}, fragments out"] = socket.recv(timeout=10)
            socket.send("fragments")
            seen[f"{name}, fragments in"] = list(socket.recv_streaming())
            seen[f"{name}, ping"] = socket.ping(b"are you there?").wait(10)
            socket.send("push")
            seen[f"{name}, pushed"] = [socket.recv(timeout=10) for _ in range(50)]
    for code, reason in CLOSES:
        with open_socket() as socket:
            socket.close(code, reason)
            seen[f"close {code}"] = [socket.close_code, socket.close_reason]
    with open_socket() as socket:
        socket.send("close 4321")
        try:
            socket.recv(timeout=10)
        except ConnectionClosed as closed:
            seen["closed by the server"] = [closed.rcvd.code, closed.rcvd.reason]
    try:
        with open_socket("/refused"):
            pass
    except InvalidStatus as refused:
        seen["refused"] = [refused.response.status_code, refused.response.body.decode()]
    with open_socket() as socket:
        socket.send("headers")
        seen["headers"] = json.loads(socket.recv(timeout=10))
    print(json.dumps(seen))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        run_server(int(sys.argv[2]), *sys.argv[3:5])
    else:
        run_checks(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
