"""Small replacements for the APIs of client libraries, each behind its credential."""

import base64
import email.parser
import email.policy
import hashlib
import json
import struct

from guarded import GuardedAPI, Reply, bearer, events, header
from harness import eventually

EVENT_STREAM = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")]


def parts(request):
    """Returns the parts of a multipart form: name -> content."""
    head = f"Content-Type: {request.get('Content-Type')}\r\n\r\n".encode()
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in parser.parsebytes(head + request.body).iter_parts()}


class API(GuardedAPI):
    """One function per method and path; `{}` in a path matches one segment."""

    def __init__(self, auth, routes):
        super().__init__(auth, self.dispatch)
        self.routes = routes

    def dispatch(self, request):
        for route, function in self.routes.items():
            method, _, path = route.partition(" ")
            here, there = path.split("/"), request.path.split("/")
            if method == request.method and len(here) == len(there) and all(
                    a in ("{}", b) for a, b in zip(here, there)):
                answer = function(self, request)
                return answer if answer is None or isinstance(answer, Reply) else Reply(answer)
        return Reply({"error": f"no such route: {request}"}, 404)

    def until(self, method, path, first, *rest):
        """Returns a stream whose second part is sent after the client has sent another request."""
        before = len(self.seen(method, path))
        yield first
        eventually(lambda: len(self.seen(method, path)) > before,
                   f"{method} {path} while an answer streams", 8)
        yield from rest


def openai():
    def chunk(word):
        return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test",
                "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}

    def complete(api, request):
        if request.json().get("stream"):
            return Reply(api.until("GET", "/v1/models", *events(
                chunk("hello"), chunk(" world"), None)), fields=EVENT_STREAM)
        return {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {
                    "role": "assistant", "content": "hello world"}}]}

    def models(*_):
        return {"object": "list", "data": [
            {"id": "gpt-test", "object": "model", "created": 1, "owned_by": "us"}]}

    def upload(_, request):
        form = parts(request)
        return {"id": "f1", "object": "file", "created_at": 1, "filename": "notes.bin",
                "bytes": len(form["file"]), "purpose": form["purpose"].decode(),
                "status": "processed"}

    return API(bearer(), {"POST /v1/chat/completions": complete, "GET /v1/models": models,
                          "POST /v1/files": upload})


class AnthropicAPI(API):
    """Demands the key in `x-api-key`, and a version: platform.claude.com/docs/en/api/versioning."""

    VERSIONS = ["2023-06-01"], ["2026-10-21"]

    def __init__(self, routes):
        super().__init__(header("x-api-key"), routes)

    def dispatch(self, request):
        if request.values("anthropic-version") not in self.VERSIONS:
            return Reply({"type": "error", "error": {
                "type": "invalid_request_error",
                "message": "anthropic-version: header is required"}}, 400)
        return super().dispatch(request)


def anthropic():
    def message(content):
        return {"id": "m1", "type": "message", "role": "assistant", "model": "claude-test",
                "content": content, "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 2}}

    def delta(word):
        return "content_block_delta", {"type": "content_block_delta", "index": 0,
                                       "delta": {"type": "text_delta", "text": word}}

    def messages(api, request):
        if not request.json().get("stream"):
            return message([{"type": "text", "text": "hello world"}])
        started, begun, *rest = events(
            ("message_start", {"type": "message_start", "message": message([])}),
            ("content_block_start", {"type": "content_block_start", "index": 0,
                                     "content_block": {"type": "text", "text": ""}}),
            delta("hello"), delta(" world"),
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            ("message_stop", {"type": "message_stop"}))
        return Reply(api.until("GET", "/v1/models", started + begun + rest[0], *rest[1:]),
                     fields=EVENT_STREAM)

    def models(*_):
        return {"data": [{"id": "claude-test", "type": "model", "display_name": "Test",
                          "created_at": "2026-01-01T00:00:00Z"}],
                "has_more": False, "first_id": "claude-test", "last_id": "claude-test"}

    def upload(_, request):
        return {"id": "f1", "type": "file", "filename": "notes.bin", "mime_type": "text/plain",
                "created_at": "2026-01-01T00:00:00Z", "size_bytes": len(parts(request)["file"])}

    return AnthropicAPI({"POST /v1/messages": messages, "GET /v1/models": models,
                         "POST /v1/files": upload})


def google_genai():
    def answer(word):
        return {"candidates": [{"index": 0, "content": {
            "role": "model", "parts": [{"text": word}]}}]}

    def stream(api, _):
        return Reply(api.until("GET", "/v1/models", *events(answer("hello"), answer(" world"))),
                     fields=EVENT_STREAM)

    def begin(api, request):
        # The upload URL is absolute, on the API's own host.
        return Reply({}, fields=[("X-Goog-Upload-Status", "active"), (
            "X-Goog-Upload-URL", api.base + "/upload/v1/files?upload_id=u1")])

    def upload(api, request):
        if request.get("X-Goog-Upload-Command") == "start":
            return begin(api, request)
        return Reply({"file": {"name": "files/f1", "sizeBytes": str(len(request.body))}},
                     fields=[("X-Goog-Upload-Status", "final")])

    return API(header("x-goog-api-key"), {
        "POST /v1/models/gemini-test:generateContent": lambda *_: answer("hello world"),
        "POST /v1/models/gemini-test:streamGenerateContent": stream,
        "GET /v1/models": lambda *_: {"models": [{"name": "models/gemini-test"}]},
        "POST /upload/v1/files": upload})


def stripe():
    def customer(number, name=None):
        return {"id": f"cus_{number}", "object": "customer", "name": name}

    def create(_, request):
        form = request.form()
        assert form["metadata[order]"] == "42" and request.get("Idempotency-Key"), form
        return customer(1, form["name"])

    def listed(_, request):
        more = "starting_after" not in request.query
        numbers = (1, 2) if more else (3,)
        return {"object": "list", "url": "/v1/customers", "has_more": more,
                "data": [customer(number) for number in numbers]}

    def upload(_, request):
        return {"id": "file_1", "object": "file", "size": len(parts(request)["file"])}

    return API(bearer(), {"POST /v1/customers": create, "GET /v1/customers": listed,
                          "POST /v1/files": upload})


def slack():
    def fields(request):
        is_json = "json" in request.get("Content-Type")
        return request.json() if is_json else {**request.query, **request.form()}

    def say(_, request):
        asked = fields(request)
        if asked["channel"] == "nowhere":
            return {"ok": False, "error": "channel_not_found"}
        return {"ok": True, "channel": "C1", "ts": "1.2", "message": {"text": asked["text"]}}

    def channels(_, request):
        second = fields(request).get("cursor") == "more"
        return {"ok": True, "channels": [{"id": "C2" if second else "C1"}],
                "response_metadata": {"next_cursor": "" if second else "more"}}

    return API(bearer(), {"POST /api/chat.postMessage": say,
                          "GET /api/conversations.list": channels,
                          "POST /api/conversations.list": channels})


def vault():
    kept = {}

    def write(_, request):
        kept.update(request.json()["data"])
        return {"data": {"version": 1}}

    def read(*_):
        return {"data": {"data": dict(kept), "metadata": {"version": 1, "deletion_time": ""}}}

    return API(header("X-Vault-Token"), {
        "GET /v1/auth/token/lookup-self": lambda *_: {"data": {"policies": ["app"]}},
        "POST /v1/secret/data/app/db": write, "GET /v1/secret/data/app/db": read,
        "LIST /v1/secret/metadata/app": lambda *_: {"data": {"keys": ["db"]}}})


def kubernetes():
    def pod(version):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "web", "namespace": "default", "resourceVersion": version},
            "spec": {"containers": [{"name": "web", "image": "web"}]}}

    def line(kind, version):
        return json.dumps({"type": kind, "object": pod(version)}).encode() + b"\n"

    def pods(api, request):
        if "watch" in request.query:
            return Reply(api.until("POST", "/api/v1/namespaces/default/configmaps",
                                   line("ADDED", "6"), line("MODIFIED", "7")),
                         fields=[("Content-Type", "application/json")])
        return {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "5"},
                "items": [pod("5")]}

    def execute(_, request):
        """Performs the handshake, and sends output and status on their channels (v4.channel.k8s.io)."""
        seal = request.get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(seal.encode()).digest()).decode()
        status = json.dumps({"kind": "Status", "status": "Success"}).encode()
        frames = [(2, b"\x01hi\n"), (2, b"\x03" + status), (8, struct.pack(">H", 1000))]
        request.handler.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
            b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n"
            + b"".join(bytes([0x80 | kind, len(data)]) + data for kind, data in frames))
        # The client's own close frame ends the connection.
        request.handler.connection.settimeout(5)
        request.handler.rfile.read(1)

    return API(bearer(), {
        "GET /api/v1/namespaces/default/pods": pods,
        "POST /api/v1/namespaces/default/configmaps": lambda _, request: request.json(),
        "GET /api/v1/namespaces/default/pods/web/exec": execute})


def github():
    """Links contain the public name, and uploads have their own host."""
    public, uploads = "https://api.github.com", "https://uploads.github.com"

    def issues(_, request):
        second = request.query.get("page") == "2"
        link = [] if second else [
            ("Link", f'<{public}/repositories/1/issues?page=2>; rel="next"')]
        return Reply([{"number": 2 if second else 1}], fields=link)

    def graphql(_, request):
        if "viewer" in request.json()["query"]:
            return {"data": {"viewer": {"login": "ada"}}}
        # The query whether the release is a draft.
        return {"data": {"repository": {"release": None}}}

    def release(*_):
        return {"id": 1, "tag_name": "v1", "url": public + "/repos/acme/app/releases/1",
                "upload_url": uploads + "/repos/acme/app/releases/1/assets{?name,label}",
                "assets": []}

    def upload(_, request):
        return Reply({"id": 7, "name": request.query["name"], "size": len(request.body),
                      "state": "uploaded"}, 201)

    return API(bearer(), {
        "GET /user": lambda *_: {"login": "ada"}, "POST /graphql": graphql,
        "GET /repos/acme/app/issues": issues, "GET /repositories/1/issues": issues,
        "GET /repos/acme/app/releases/tags/v1": release,
        "POST /repos/acme/app/releases/1/assets": upload})
