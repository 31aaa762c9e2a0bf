"""An API that requires one credential and records every request, for clients of other authors.

The case determines the responses: documents, streams, a git repository, another server.
"""

import base64
import http.client
import json
import os
import re
import subprocess
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import check

# The clients' placeholder for the credential; it must never arrive.
PLACEHOLDER = "placeholder-of-the-app"
CREDENTIAL = "the-real-credential"
HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")


class Request:
    """One received request with its complete content."""

    def __init__(self, handler, body):
        self.method, self.target = handler.command, handler.path
        self.fields = handler.headers.items()
        self.body = body
        self.handler = handler
        parts = urllib.parse.urlsplit(self.target)
        self.path = parts.path
        self.raw_query = parts.query
        self.query = dict(urllib.parse.parse_qsl(parts.query))

    def __str__(self):
        return f"{self.method} {self.target}"

    def values(self, name):
        """Returns every value of the field, also under names that CGI programs cannot distinguish from its
        own."""
        return [value for other, value in self.fields if alike(other) == alike(name)]

    def get(self, name):
        return ", ".join(self.values(name))

    def json(self):
        return json.loads(self.body)

    def form(self):
        return dict(urllib.parse.parse_qsl(self.body.decode()))


def alike(name):
    return re.sub(r"[^a-z0-9]", "-", name.lower())


class Reply:
    """A response. A dictionary or a list is sent as JSON, an iterator in the chunks that it yields."""

    def __init__(self, content=b"", status=200, fields=()):
        self.status, self.fields = status, list(fields)
        if isinstance(content, (dict, list)):
            content = json.dumps(content).encode()
            self.fields.append(("Content-Type", "application/json"))
        self.content = content


def events(*data):
    """Server-sent events; a pair is an event's name and its data, None is `[DONE]`."""
    for item in data:
        name, document = item if isinstance(item, tuple) else (None, item)
        text = "[DONE]" if document is None else json.dumps(document)
        yield ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


class GuardedAPI:
    """The server. `auth` is a channel's `auth`, which determines the expected field."""

    def __init__(self, auth, answer):
        self.auth, self.answer = auth, answer
        self.name, self.value = expected_field(auth)
        self.lock = threading.Lock()
        self.requests = []
        self.faults = []
        # An address different from netproxy's, as for every API, so that NO_PROXY can distinguish them.
        self.server = ThreadingHTTPServer(("127.0.0.2", 0), handler_of(self), False)
        self.server.daemon_threads = True
        self.server.request_queue_size = 128
        self.server.server_bind()
        self.server.server_activate()
        self.authority = f"127.0.0.2:{self.server.server_address[1]}"
        self.base = "http://" + self.authority
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def every_secret(self):
        """Returns the secrets for the search in netproxy's logs and outputs."""
        return {CREDENTIAL, self.value}

    def channel(self, path="", **keys):
        return {"upstream": self.base + path, "auth": self.auth, **keys}

    def judge(self, request, foreign=()):
        """Records the faults of a request. Returns whether it has the credential."""
        found = request.values(self.name)
        if found != [self.value]:
            self.note(request, f"{self.name} is {found}")
        hosts = request.values("Host")
        if hosts != [self.authority]:
            self.note(request, f"Host is {hosts}")
        for name, value in request.fields:
            if alike(name).startswith("proxy-"):
                self.note(request, f"{name} arrived")
            if any(word in value for word in (PLACEHOLDER, *foreign)):
                self.note(request, f"{name} has what the app sent: {value}")
        if PLACEHOLDER.encode() in request.body or PLACEHOLDER in request.target:
            self.note(request, "the placeholder arrived")
        return found == [self.value]

    def note(self, request, fault):
        with self.lock:
            self.faults.append(f"{request}: {fault}")

    def seen(self, method, path):
        """Returns the requests so far with the method and this path."""
        with self.lock:
            return [each for each in self.requests
                    if (each.method, each.path) == (method, path)]

    def check(self, *expected):
        """Fails unless every `METHOD /path` arrived, and all requests were correct."""
        with self.lock:
            check(not self.faults, f"what arrived: {self.faults[:3]}")
            arrived = {f"{each.method} {each.path}" for each in self.requests}
        missing = set(expected) - arrived
        check(not missing, f"did not arrive: {sorted(missing)}; arrived: {sorted(arrived)}")


def expected_field(auth):
    """Returns the name and the value of the field that a channel's `auth` produces."""
    if "bearer" in auth:
        return "Authorization", "Bearer " + CREDENTIAL
    if "basic" in auth:
        pair = f"{auth['basic']['username']}:{CREDENTIAL}".encode()
        return "Authorization", "Basic " + base64.b64encode(pair).decode()
    return auth["header"]["name"], CREDENTIAL


def bearer():
    return {"bearer": "literal:" + CREDENTIAL}


def basic(username):
    return {"basic": {"username": username, "password": "literal:" + CREDENTIAL}}


def header(name):
    return {"header": {"name": name, "value": "literal:" + CREDENTIAL}}


def handler_of(api):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 30

        def log_message(self, *_):
            pass

        def content(self):
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            content = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return content

        def any_method(self):
            request = Request(self, self.content())
            with api.lock:
                api.requests.append(request)
            if not api.judge(request):
                challenge = ("Basic" if "basic" in api.auth else "Bearer") + ' realm="api"'
                return self.send(request, Reply({"error": "unauthorized"}, 401, [
                    ("WWW-Authenticate", challenge)]))
            try:
                reply = api.answer(request)
            except Exception as error:
                api.note(request, f"{type(error).__name__}: {error}")
                reply = Reply({"error": str(error)}, 500)
            if reply is None:
                # The response has been written, and the connection no longer carries HTTP.
                self.close_connection = True
            else:
                self.send(request, reply)

        def send(self, request, reply):
            whole = isinstance(reply.content, bytes)
            lines = [f"HTTP/1.1 {reply.status} Answer"]
            lines += [f"{name}: {value}" for name, value in reply.fields]
            if reply.status not in (204, 304):
                lines.append(f"Content-Length: {len(reply.content)}" if whole
                             else "Transfer-Encoding: chunked")
            self.wfile.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
            if whole:
                if request.method != "HEAD":
                    self.wfile.write(reply.content)
                return
            for piece in reply.content:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def __getattr__(self, name):
            # LIST, PROPFIND and MOVE are handled like GET.
            if name.startswith("do_"):
                return self.any_method
            raise AttributeError(name)

        def handle(self):
            try:
                super().handle()
            except OSError:
                pass

    return Handler


def server_behind(port):
    """Responds with the response of another server, which receives the unchanged Host."""

    def answer(request):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        try:
            connection.putrequest(request.method, request.target, skip_host=True,
                                  skip_accept_encoding=True)
            for name, value in request.fields:
                if alike(name) not in HOP_BY_HOP and alike(name) != "authorization":
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            response = connection.getresponse()
            content = response.read()
            fields = [(name, value) for name, value in response.getheaders()
                      if name.lower() not in HOP_BY_HOP]
            if request.method == "HEAD":
                # A body that is not sent, so that Content-Length has the server's value.
                content = bytes(int(response.getheader("Content-Length") or 0))
            return Reply(content, response.status, fields)
        finally:
            connection.close()

    return answer


def git_repositories(root):
    """Responds like `git http-backend` for the bare repositories in a directory."""

    def answer(request):
        environment = {
            **os.environ, "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": request.method, "PATH_INFO": request.path,
            "QUERY_STRING": request.raw_query, "CONTENT_TYPE": request.get("Content-Type"),
            "CONTENT_LENGTH": str(len(request.body)), "REMOTE_USER": "app",
            "HTTP_CONTENT_ENCODING": request.get("Content-Encoding"),
            "GIT_PROTOCOL": request.get("Git-Protocol"), "GIT_CONFIG_NOSYSTEM": "1",
        }
        done = subprocess.run(["git", "http-backend"], input=request.body, timeout=15,
                              stdout=subprocess.PIPE, env=environment)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [tuple(line.split(": ", 1)) for line in head.decode().splitlines()]
        status = next((value for name, value in fields if name == "Status"), "200")
        return Reply(content, int(status.split()[0]),
                     [field for field in fields if field[0] != "Status"])

    return answer
