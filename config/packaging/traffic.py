#!/usr/bin/env python3
"""The traffic for verify: an API, and a client that uses it through the installed service.

    traffic.py api PORT               GET /held responds with one half, and with the other after POST /release
    traffic.py client ADDRESS RESULTS one request each 0.1 s until SIGTERM; a line in RESULTS for each

ADDRESS is 127.0.0.1:PORT or the path of a unix socket.
"""

import http.client
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HALVES = b"begun ", b"ended\n"


class API(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    released = threading.Event()

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.released.set()
        self.do_GET()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(sum(map(len, HALVES))))
        self.end_headers()
        self.wfile.write(HALVES[0])
        if self.path == "/held":
            self.released.wait()
        self.wfile.write(HALVES[1])


def connected(address):
    if address.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(address)
        return connection
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 60)


def result(address):
    """200, or the reason why a request has no such response."""
    try:
        client = http.client.HTTPConnection("localhost")
        client.sock = connected(address)
        client.request("GET", "/here/quick")
        response = client.getresponse()
        content = response.read()
        client.close()
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    return response.status if content == b"".join(HALVES) else f"{response.status} {content}"


def send_steadily(address, results):
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    running = []
    with open(results, "w", encoding="utf-8", buffering=1) as file:
        while not ended.wait(0.1):
            running.append(threading.Thread(target=lambda: file.write(f"{result(address)}\n")))
            running[-1].start()
        for each in running:
            each.join()


if __name__ == "__main__":
    if sys.argv[1] == "api":
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), API).serve_forever()
    else:
        send_steadily(*sys.argv[2:])
