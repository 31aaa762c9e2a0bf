"""A token endpoint and an API in one process, controlled by the case.

Refresh tokens rotate. A used token that is presented again within the grace window, while its successor has
not been used, gets the same response again; otherwise its family is revoked (RFC 9700 section 4.14.2). Every
token request is recorded with its outcome. A client with its own credentials gets a token each time.
"""

import json
import random
import socket
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import Failure, eventually

# All tokens of all endpoints begin with these, so that a search for leaks needs no list.
ACCESS, REFRESH = "scripted-access-", "scripted-refresh-"
CLIENT_SECRET = "scripted-client-secret"
# Resource servers tolerate this clock difference; it is not tested here.
LEEWAY = 5


class Lost(Exception):
    """The response does not reach the client."""


class Gate:
    """Holds requests while it is closed; `arrived` counts them."""

    def __init__(self):
        self.passage = threading.Event()
        self.passage.set()
        self.arrived = 0

    def close(self):
        self.arrived = 0
        self.passage.clear()

    def open(self):
        self.passage.set()

    def wait(self):
        self.arrived += 1
        if not self.passage.wait(60):
            raise Lost

    def wait_for_somebody(self, what):
        eventually(lambda: self.arrived > 0, what, 20)


class Endpoint:
    """The server. `POST /token` is for client `app`; everything under `/api` requires a valid token."""

    def __init__(self, lifetime=60.0, grace=30.0):
        self.lifetime, self.grace = lifetime, grace
        self.lock = threading.Lock()
        self.access = {}        # access token -> its expiry
        self.successor = {}     # used refresh token -> (when, response)
        self.current = REFRESH + "first"
        self.is_alive = True
        self.serial = 0
        self.requests = []      # the outcomes of the token requests, in order
        self.served = self.refused = 0
        self.before = Gate()    # a token request that has arrived and changed nothing
        self.after = Gate()     # a token request after the use of its refresh token and before its response
        self.api = Gate()       # an API request with a valid token
        self.drop_held = False  # whether requests held by `before` are dropped without a response
        self.lost_share = self.error_share = 0.0
        self.faults_in_row = 0
        self.slowness = 0.0     # the maximum pause before and after a token request is processed
        self.chance = random.Random(1)
        # Called for each token request while its connection is open.
        self.on_arrival = lambda record: None
        self.servers = []
        self.serve_on(socket.create_server(("127.0.0.1", 0), backlog=512))
        self.port = self.servers[0].server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"

    def serve_on(self, listening, place=None):
        """Also serves on another socket, such as one in a namespace; its requests are recorded with the
        place."""
        server = ThreadingHTTPServer(listening.getsockname(), handler_of(self, place), False)
        server.socket.close()
        server.socket = listening
        server.server_address = listening.getsockname()
        server.daemon_threads = True
        self.servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for gate in (self.before, self.after, self.api):
            gate.open()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    # Functions for the cases.

    def every_secret(self):
        return {ACCESS, REFRESH, CLIENT_SECRET}

    def outcomes(self, since=0):
        """Returns `rotated`, `repeated`, `reused`, `dead`, `issued`, `error` or `dropped` for each
        request; `lost` follows the word if the response was lost."""
        with self.lock:
            return [record["outcome"] for record in self.requests[since:]]

    def rotations(self):
        """Returns the times at which refresh tokens were used, on the monotonic clock."""
        with self.lock:
            return [record["at"] for record in self.requests
                    if record["outcome"].startswith("rotated")]

    def presented(self, since=0):
        with self.lock:
            return [record["presented"] for record in self.requests[since:]]

    def revoke(self):
        """Revokes every access token; the grant stays valid."""
        with self.lock:
            self.access.clear()

    # Functions of the server.

    def token(self, form, port=None, place=None):
        """Processes one token request; returns (status, document). Raises Lost for no response."""
        record = {"presented": form.get("refresh_token", "")[len(REFRESH):], "outcome": "arrived",
                  "audience": form.get("audience", ""), "port": port, "place": place}
        with self.lock:
            record["at"] = record["arrived"] = time.monotonic()
            self.requests.append(record)
            fault = self.fault()
            pauses = [self.chance.random() * self.slowness for _ in range(2)]
        self.on_arrival(record)
        time.sleep(pauses[0])
        self.before.wait()
        if self.drop_held:
            record["outcome"] = "dropped"
            raise Lost
        if fault == "error":
            record["outcome"] = "error"
            return 500, {}
        with self.lock:
            if form.get("grant_type") == "client_credentials":
                record["outcome"] = "issued"
                status, document = 200, self.issue(time.monotonic())[1]
            else:
                status, document = self.judge(form.get("refresh_token"), record)
        time.sleep(pauses[1])
        self.after.wait()
        if fault == "lost" and status == 200:
            record["outcome"] += ", lost"
            raise Lost
        return status, document

    def fault(self):
        """Returns the fault of the next request. There are at most two faults in a row: more would look
        like an endpoint that is down for longer than a request waits."""
        throw = self.chance.random()
        word = ("error" if throw < self.error_share
                else "lost" if throw < self.error_share + self.lost_share else None)
        if self.faults_in_row == 2:
            word = None
        self.faults_in_row = self.faults_in_row + 1 if word else 0
        return word

    def judge(self, presented, record):
        now = record["at"] = time.monotonic()
        if not self.is_alive:
            record["outcome"] = "dead"
        elif presented == self.current:
            record["outcome"] = "rotated"
            mark, answer = self.issue(now)
            self.current = answer["refresh_token"] = REFRESH + mark
            self.successor[presented] = (now, answer)
            return 200, answer
        elif presented in self.successor:
            spent, answer = self.successor[presented]
            if answer["refresh_token"] == self.current and now - spent <= self.grace:
                record["outcome"] = "repeated"
                # The remaining lifetime of the token issued then, unless it has been revoked; an expired
                # token has a successor.
                end = self.access.get(answer["access_token"], now)
                if end < now:
                    answer |= self.issue(now)[1]
                    return 200, answer
                return 200, {**answer, "expires_in": max(1, int(end - now))}
            record["outcome"] = "reused"
            self.is_alive = False
            self.access.clear()
        else:
            record["outcome"] = "unknown"
        return 400, {"error": "invalid_grant", "error_description": "the token is spent or unknown"}

    def issue(self, now):
        """Creates an access token; returns the mark at its end and the response that contains it."""
        self.serial += 1
        mark = f"{self.serial}-{self.chance.getrandbits(64):016x}"
        self.access[ACCESS + mark] = now + self.lifetime
        return mark, {"access_token": ACCESS + mark, "token_type": "Bearer",
                      "expires_in": self.lifetime}

    def is_good(self, field):
        with self.lock:
            end = self.access.get(field.removeprefix("Bearer "))
            good = end is not None and time.monotonic() < end + LEEWAY
            self.served += good
            self.refused += not good
            return good


def handler_of(endpoint, place=None):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def answer(self, status, document, *fields):
            body = json.dumps(document).encode()
            head = [f"HTTP/1.1 {status} Scripted", "Content-Type: application/json",
                    f"Content-Length: {len(body)}", *fields]
            self.wfile.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)

        def do_GET(self):
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not endpoint.is_good(self.headers.get("Authorization", "")):
                return self.answer(401, {}, 'WWW-Authenticate: Bearer error="invalid_token"')
            try:
                endpoint.api.wait()
            except Lost:
                return self.hang_up()
            self.answer(200, {"length": len(content)})

        def do_POST(self):
            if self.path != "/token":
                return self.do_GET()
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            try:
                form = dict(urllib.parse.parse_qsl(text))
                self.answer(*endpoint.token(form, self.client_address[1], place))
            except Lost:
                self.hang_up()

        def hang_up(self):
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

        def handle(self):
            # A killed daemon leaves its connections open.
            try:
                super().handle()
            except OSError:
                pass

    return Handler


def expect_no_reuse(endpoint):
    """Fails if a used refresh token was presented outside the grace window."""
    bad = [word for word in endpoint.outcomes() if word in ("reused", "dead", "unknown")]
    if bad or not endpoint.is_alive:
        raise Failure(f"a spent refresh token was presented: {endpoint.outcomes()}")
