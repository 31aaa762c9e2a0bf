"""An MCP server with OAuth by fastmcp: it registers clients, signs in every user and has two tools.

    server.py PORT LOG [ISSUER]

LOG gets one JSON object per line: each request to the authorization server, with its content and its
response. ISSUER replaces the server's own issuer in the metadata. `/control/ACTION` causes faults.
"""

import json
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from starlette.responses import PlainTextResponse

port, log_path = int(sys.argv[1]), sys.argv[2]
base = f"http://127.0.0.1:{port}"
auth = InMemoryOAuthProvider(
    base_url=base,
    issuer_url=sys.argv[3] if len(sys.argv) > 3 else None,
    client_registration_options=ClientRegistrationOptions(
        enabled=True, valid_scopes=["tools", "write"]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["tools"],
)
mcp = FastMCP("tools", auth=auth)


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool
def greet(name: str) -> str:
    """Greets a person."""
    return f"hello {name}"


def control(action):
    if action == "expire":
        # The access tokens end, but the refresh tokens do not.
        auth.access_tokens.clear()
    elif action == "revoke":
        auth.access_tokens.clear()
        auth.refresh_tokens.clear()
    elif action == "demand":
        # From now on, a token requires another scope.
        auth.required_scopes.append("write")
    elif action == "forget":
        auth.access_tokens.clear()
        auth.clients.clear()
    return json.dumps({"clients": list(auth.clients), "tokens": len(auth.access_tokens)})


@mcp.custom_route("/control/{action}", methods=["POST"])
async def controlled(request):
    return PlainTextResponse(control(request.path_params["action"]))


def is_last(message):
    return message["type"] == "http.response.body" and not message.get("more_body")


class Recorder:
    """Records the requests of clients to the authorization server, and its responses."""

    paths = {"/register", "/token", "/authorize", "/revoke"}

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        parts = []

        async def listen():
            message = await receive()
            parts.append(message.get("body", b""))
            return message

        status, answer = [], []

        async def tell(message):
            if message["type"] == "http.response.start":
                status.append(message["status"])
            answer.append(message.get("body", b""))
            # The record exists before the client has the response.
            if is_recorded and is_last(message):
                record()
            await send(message)

        def record():
            entry = {"method": scope["method"], "path": scope["path"],
                     "query": scope["query_string"].decode(), "body": b"".join(parts).decode(),
                     "status": status[0], "answer": b"".join(answer).decode()}
            with open(log_path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

        is_recorded = scope["path"] in self.paths or ".well-known" in scope["path"]
        await self.app(scope, listen, tell)


uvicorn.run(Recorder(mcp.http_app(path="/mcp")), host="127.0.0.1", port=port,
            log_level="warning")
