"""A token endpoint that accepts assertions, and an API that returns their subjects.

    assertions.py PORT PUBLIC-KEY ALGORITHM

joserfc verifies the assertions; an assertion with a known jti is refused.
"""

import http.server
import json
import sys
import time
import urllib.parse

from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

port, path, algorithm = int(sys.argv[1]), sys.argv[2], sys.argv[3]
kind = {"RS256": RSAKey, "ES256": ECKey, "EdDSA": OKPKey}[algorithm]
with open(path, encoding="utf-8") as file:
    key = kind.import_key(file.read())
issuer = f"http://127.0.0.1:{port}"
seen = set()


def judge(text):
    """Returns the claims of an assertion; raises if it is invalid."""
    claims = jwt.decode(text, key, algorithms=[algorithm]).claims
    now = time.time()
    if claims["aud"] != issuer or claims["jti"] in seen:
        raise ValueError("aud or jti")
    if not (now - 30 < claims["iat"] <= now + 5 and claims["exp"] - claims["iat"] == 60):
        raise ValueError("iat or exp")
    seen.add(claims["jti"])
    return f"{claims['iss']} for {claims['sub']}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(
            self.rfile.read(int(self.headers["Content-Length"])).decode()))
        try:
            who = judge(form.get("client_assertion") or form["assertion"])
            answer = {"access_token": who.replace(" ", "+"), "token_type": "Bearer",
                      "expires_in": 60}
            self.answer(200, json.dumps(answer).encode(), "application/json")
        except Exception as error:
            answer = {"error": "invalid_client", "error_description": type(error).__name__}
            self.answer(401, json.dumps(answer).encode(), "application/json")

    def do_GET(self):
        token = self.headers["Authorization"].removeprefix("Bearer ")
        self.answer(200, token.replace("+", " ").encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
