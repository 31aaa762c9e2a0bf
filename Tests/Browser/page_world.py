"""netproxy with an API and an authorization server, for tests with a browser."""

import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from devtools import Failure

MARKUP = "<img/src=x/onerror=document.title='broken'>"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server(http.server.BaseHTTPRequestHandler):
    """The API, which responds according to the path, and the authorization server, which responds
    according to the client's name."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        words = self.path.split("?")[0].split("/")
        status = next((int(word) for word in words if word.isdigit() and len(word) == 3), 200)
        self.answer(status, {"path": self.path})

    def do_POST(self):
        form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path != "/token":
            return self.do_GET()
        if "client_id=stranger" in form:
            return self.answer(400, {"error": "invalid_grant",
                                     "error_description": "<b>revoked</b> by a person"})
        self.server.tokens += 1
        self.answer(200, {"access_token": f"token-{self.server.tokens}", "token_type": "Bearer",
                          "expires_in": 3600})

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Markup", MARKUP)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


CONFIGURATION = """
listen: [127.0.0.1:{port}]
admin: 127.0.0.1:{admin}
workers: 2
state: {directory}/state
log: {{ directory: {directory}/log }}
channels:
  orders:
    upstream: http://127.0.0.1:{origin}/v1
    log: {{ headers: [x-markup], query: full }}
    auth:
      oauth: {{ grant: client_credentials, token_url: "http://127.0.0.1:{origin}/token",
               client_id: app, client_secret: "literal:secret" }}
  mail:
    upstream: http://127.0.0.1:{origin}/mail
    auth:
      oauth: {{ grant: refresh_token, token_url: "http://127.0.0.1:{origin}/token",
               authorization_url: "http://127.0.0.1:{origin}/authorize", client_id: stranger,
               client_auth: none, refresh_token: "literal:old" }}
  calendar:
    upstream: http://127.0.0.1:{origin}/calendar
    auth:
      oauth: {{ grant: authorization_code, token_url: "http://127.0.0.1:{origin}/token",
               authorization_url: "http://127.0.0.1:{origin}/authorize", client_id: friend,
               client_auth: none }}
  public:
    upstream: http://127.0.0.1:{origin}/public
  warehouse-inventory-eu-central:
    upstream: http://127.0.0.1:{closed}
  idle:
    upstream: http://127.0.0.1:{origin}/idle
"""


class World:
    """The servers and the daemon, under one temporary directory."""

    def __init__(self, netproxy):
        self.netproxy = os.path.abspath(netproxy)
        self.directory = tempfile.mkdtemp(prefix="netproxy-page-")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.server.tokens = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port, self.admin = free_port(), free_port()
        self.file = os.path.join(self.directory, "netproxy.yaml")
        self.daemon = None
        self.text = CONFIGURATION.format(port=self.port, admin=self.admin, closed=free_port(),
                                         origin=self.server.server_port, directory=self.directory)

    @property
    def page(self):
        return f"http://127.0.0.1:{self.admin}/"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.server.shutdown()
        shutil.rmtree(self.directory, ignore_errors=True)

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.write(self.text)
        output = open(os.path.join(self.directory, "output"), "ab")
        self.daemon = subprocess.Popen([self.netproxy, "run", "--config", self.file],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        output.close()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        with open(os.path.join(self.directory, "output"), encoding="utf-8") as file:
            raise Failure("netproxy did not start: " + file.read()[-2000:])

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(20)

    def ask(self, method, path, port=None, fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.admin, timeout=20)
        try:
            connection.request(method, path, headers={"Netproxy-Admin": "1", **(fields or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def get(self, path, **fields):
        """Sends a request through the proxy, like a client."""
        return self.ask("GET", path, port=self.port, fields=fields)[0]

    def traffic(self):
        """Creates the traffic that a page must display: successes, refusals, failures, long and hostile
        paths."""
        for number in range(8):
            self.get(f"/orders/{number}?page={number}")
        for path in ("/public/hello", "/public/a/rather/long/path/" + "segment/" * 30 + "end",
                     "/orders/404", "/orders/500", "/orders/403", "/public/" + MARKUP,
                     "/orders/x?q=" + MARKUP, "/mail/inbox", "/mail/inbox",
                     "/warehouse-inventory-eu-central/1", "/nowhere/" + "x" * 300,
                     "/public/%3Cscript%3Ealert(1)%3C/script%3E"):
            self.get(path, **{"X-Request-Id": MARKUP[:60]})
