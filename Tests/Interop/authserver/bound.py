"""A token endpoint and an API that require a proof of possession (DPoP, RFC 9449).

    bound.py PORT ALGORITHM

joserfc verifies the proofs with the key that they contain: type, algorithm, method, URL, age, a new jti, the
token's hash, and a nonce, which every response replaces. For every third request to the API, the nonce has
expired.
"""

import base64
import hashlib
import http.server
import itertools
import json
import sys
import threading
import time
import urllib.parse

from joserfc import jws
from joserfc.jwk import import_key

port, algorithm = int(sys.argv[1]), sys.argv[2]
base = f"http://127.0.0.1:{port}"
lock = threading.Lock()
seen = set()
nonces = {"/token": "token-0", "api": "api-0"}
tokens = {}
counts = {"tokens": 0, "requests": 0, "wanted": 0}
numbers = itertools.count(1)
# The header contains the key, and joserfc limits the header to 512 bytes: an RSA key is longer.
registry = jws.JWSRegistry(algorithms=[algorithm])
registry.max_header_length = 2048


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


class Refusal(Exception):
    def __init__(self, error):
        super().__init__(error)
        self.error = error


def judge(text, method, path, server, token=None):
    """Returns the thumbprint of the proof's key; raises if the proof is invalid."""
    header = decoded(text.split(".")[0])
    if header.get("typ") != "dpop+jwt" or header.get("alg") != algorithm or "d" in header["jwk"]:
        raise Refusal("invalid_dpop_proof")
    key = import_key(header["jwk"])
    claims = json.loads(jws.deserialize_compact(text, key, registry=registry).payload)
    now = time.time()
    if claims["htm"] != method or claims["htu"] != base + path or claims["jti"] in seen:
        raise Refusal("invalid_dpop_proof")
    if not now - 30 < claims["iat"] <= now + 5:
        raise Refusal("invalid_dpop_proof")
    hashed = token and encoded(hashlib.sha256(token.encode()).digest())
    if claims.get("ath") != hashed:
        raise Refusal("invalid_dpop_proof")
    if claims.get("nonce") != nonces[server]:
        counts["wanted"] += 1
        raise Refusal("use_dpop_nonce")
    seen.add(claims["jti"])
    return key.thumbprint()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, server, challenge=None):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("DPoP-Nonce", nonces[server])
        if challenge:
            self.send_header("WWW-Authenticate", f'DPoP error="{challenge}", algs="{algorithm}"')
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/token":
            return self.serve(body)
        with lock:
            try:
                thumbprint = judge(self.headers["DPoP"], "POST", "/token", "/token")
                token = f"token-{next(numbers)}"
                tokens[token] = thumbprint
                counts["tokens"] += 1
                answer = {"access_token": token, "token_type": "DPoP", "expires_in": 60}
                self.answer(200, answer, "/token")
            except Refusal as refusal:
                self.answer(400, {"error": refusal.error}, "/token")

    def do_GET(self):
        if self.path == "/counts":
            return self.answer(200, counts, "api")
        if self.path == "/revoke":
            tokens.clear()
            return self.answer(200, {}, "api")
        return self.serve(b"")

    def serve(self, body):
        path = urllib.parse.urlsplit(self.path).path
        with lock:
            try:
                scheme, _, token = self.headers["Authorization"].partition(" ")
                if scheme != "DPoP":
                    raise Refusal("invalid_request")
                thumbprint = judge(self.headers["DPoP"], self.command, path, "api", token)
                if tokens.get(token) != thumbprint:
                    raise Refusal("invalid_token")
                counts["requests"] += 1
                answer = {"token": token, "bytes": len(body)}
                self.answer(200, answer, "api")
                # The nonce expires after the response.
                if counts["requests"] % 3 == 0:
                    nonces["api"] = f"api-{next(numbers)}"
            except Refusal as refusal:
                self.answer(401, {"error": refusal.error}, "api", refusal.error)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
