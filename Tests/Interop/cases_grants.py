"""Sign-ins and grants against servers of other authors.

The servers are django-oauth-toolkit, oidc-provider-mock, and nginx with client certificates."""

import json
import os
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request

from harness import Child, Failure, case, check, clean_environment, equal, eventually, free_port
from proxy import Netproxy
from traffic import curl
from world import run


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browse(url, form=None):
    """Sends one request like a browser, without a proxy; returns status, Location and text."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    try:
        with opener.open(urllib.request.Request(url, data=data), timeout=20) as response:
            return response.status, response.headers.get("Location"), response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("Location"), error.read().decode()


class Login:
    """Runs `netproxy login` in its own terminal."""

    def __init__(self, np, *arguments, name="mail"):
        self.np = np
        np.serial = getattr(np, "serial", 0) + 1
        self.child = Child(
            [np.world.netproxy, "login", name, *arguments, "--config", np.config_path],
            np.directory, f"login-{np.serial}", np.environment())

    def text(self):
        with open(self.child.stdout_path, encoding="utf-8") as file:
            return file.read()

    def line(self, pattern):
        """Returns the first line that matches the pattern, once it is printed."""

        def probe():
            if not self.child.running() and self.child.process.returncode:
                raise Failure(f"login ended: {self.child.stderr()}")
            return re.search(pattern, self.text())

        return eventually(probe, f"login prints {pattern}", 20).group(1)

    def end(self, status=0):
        found = self.child.wait(20)
        text = self.text() + self.child.stderr()
        self.np.outputs.append(("netproxy login", text))
        equal(found, status, f"the exit status of login ({text.strip()[-300:]})")
        return text


def mail(world, client, **oauth):
    """Returns a channel to the protected API with a sign-in by alice."""
    return {"mail": world.channel("/api", auth={"oauth": {
        "issuer": world.auth.base, "client_id": client.client_id, "client_auth": "none",
        "scopes": ["read", "write"], **oauth}})}


def get(np, path, status):
    answer = curl(np, np.url(path))
    equal(answer.status, status, f"the status of {path}")
    return answer.body.decode(errors="replace")


def reveal(np):
    """Returns the access token; this output is exempt from the leak check."""
    done = np.command("token", "mail", "--reveal")
    np.outputs.pop()
    equal(done.returncode, 0, f"the exit status of token --reveal ({done.stderr.strip()})")
    return done.stdout.strip()


def introspect(world, token):
    """Returns the server's own description of a token (RFC 7662)."""
    asker = world.auth.register()
    return world.auth.call("POST", "/o/introspect/", {"token": token},
                           basic=(asker.client_id, asker.secret))


def forms(world, client, grant, mark):
    return [record for record in world.auth.token_requests(client, mark)
            if record["grant"] == grant]


@case
def login_with_a_browser_refresh_and_logout(world):
    """Endpoints by RFC 8414, PKCE with S256, iss, rotation, introspection, revocation."""
    client = world.auth.register("authorization_code")
    mark = world.auth.mark()
    with Netproxy(world, mail(world, client, grant="authorization_code")) as np:
        part = world.unique("before")
        check("reauthorization_required" in get(np, f"/mail/{part}", 503),
              "the app is told that somebody must sign in")
        login = Login(np)
        page = login.line(r"(http://\S+/o/authorize/\S+)")
        status, location, text = browse(page)
        equal(status, 302, f"the status of the authorization page ({text[:200]})")
        check(location.startswith("http://127.0.0.1:"), f"it leads to the loopback: {location}")
        check("iss=" in location, "the server names itself in its answer")
        forged = location.replace("state=", "state=x")
        equal(browse(forged)[0], 400, "the status of a forged answer")
        status, _, text = browse(location)
        equal(status, 200, f"the status of the redirect ({text})")
        check("You are signed in" in text, "the browser is told")
        check("You are signed in to mail." in login.end(), "the terminal is told")
        equal(len(forms(world, client, "authorization_code", mark)), 1, "codes presented")

        # The daemon uses the token immediately.
        get(np, f"/mail/{world.unique('first')}", 200)
        token = reveal(np)
        check(introspect(world, token)["active"], "the token is live for the server, too")

        # The API's tokens end: one refresh with rotation, one replay.
        world.auth.call("DELETE", f"/control/tokens?client={client.name}")
        get(np, f"/mail/{world.unique('second')}", 200)
        refreshes = forms(world, client, "refresh_token", mark)
        equal(len(refreshes), 1, "refreshes")
        check(refreshes[0]["refresh_token"] not in ("", refreshes[0]["presented_refresh_token"]),
              "the refresh token was rotated")
        replayed = reveal(np)
        check(replayed != token, "there is another token")
        check(introspect(world, replayed)["active"], "the replayed token was live")

        done = np.command("logout", "mail")
        equal(done.returncode, 0, f"the exit status of logout ({done.stderr})")
        check("revoked the refresh token" in done.stdout, done.stdout)
        check("were removed" in done.stdout, done.stdout)
        check(not introspect(world, replayed)["active"], "the token is dead for the server")
        check("reauthorization_required" in get(np, f"/mail/{world.unique('after')}", 503),
              "the daemon has forgotten it, too")


@case
def login_on_another_device(world):
    """RFC 8628 without a daemon; the daemon finds the sealed tokens when it starts."""
    client = world.auth.register("device_code")
    mark = world.auth.mark()
    key = os.path.join(world.directory, world.unique("state-key"))
    with open(key, "wb") as file:
        file.write(run(["openssl", "rand", "-base64", "32"]))
    np = Netproxy(world, mail(world, client, grant="device_code",
                              device_url=world.auth.base + "/o/device-authorization/"),
                  state_key="file:" + key)
    np.write_config()
    login = Login(np)
    code = login.line(r"\n  (\S+)\n")
    # At least one poll is too early and gets an error.
    eventually(lambda: [r for r in forms(world, client, DEVICE, mark)
                        if r["error"] == "authorization_pending"], "a poll that waits", 20)
    world.auth.call("POST", "/control/devices", {"user_code": code, "status": "authorized"})
    login.end()
    with open(os.path.join(np.config["state"], "mail.json"), encoding="utf-8") as file:
        stored = file.read()
    equal(json.loads(stored)["sealed"], "AES-256-GCM", "how the file is sealed")
    for secret in world.auth.every_secret():
        check(secret not in stored, "a token is in the sealed file")
    with np:
        get(np, f"/mail/{world.unique('device')}", 200)
        check(introspect(world, reveal(np))["active"], "the token is live")
        equal(np.command("logout", "mail").returncode, 0, "the exit status of logout")


DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@case
def login_that_is_denied(world):
    client = world.auth.register("device_code")
    np = Netproxy(world, mail(world, client, grant="device_code",
                              device_url=world.auth.base + "/o/device-authorization/"))
    np.write_config()
    login = Login(np)
    code = login.line(r"\n  (\S+)\n")
    world.auth.call("POST", "/control/devices", {"user_code": code, "status": "denied"})
    check("denied" in login.end(status=1), "the person is told")
    check(not os.path.exists(os.path.join(np.config["state"], "mail.json")), "nothing is stored")


@case
def openid_provider_signs_in(world):
    """oidc-provider-mock: metadata at the OpenID Connect location, refresh without rotation."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    provider = Child([world.python, "-m", "oidc_provider_mock", "-p", str(port), "-e", "40"],
                     world.directory, "oidc-provider-mock")
    try:
        provider.wait_for_port(port, 30)
        channels = {"mail": world.channel("", auth={"oauth": {
            "grant": "authorization_code", "issuer": base, "client_id": "app",
            "client_secret": "literal:anything", "scopes": ["openid", "email"]}})}
        with Netproxy(world, channels) as np:
            login = Login(np)
            page = login.line(r"(http://\S+/oauth2/authorize\S+)")
            status, location, text = browse(page, {"sub": "alice@example.com"})
            check(status in (302, 303), f"the provider answered {status}: {text[:200]}")
            equal(browse(location)[0], 200, "the status of the redirect")
            login.end()
            equal(get(np, "/mail/files/hello.txt", 200), "hello from nginx\n", "the answer")
            first = reveal(np)
            done = np.command("token", "mail", "--refresh")
            equal(done.returncode, 0, f"the exit status of token --refresh ({done.stderr})")
            check(reveal(np) != first, "there is another token")
            get(np, "/mail/files/hello.txt", 200)
            done = np.command("logout", "mail")
            equal(done.returncode, 0, f"the exit status of logout ({done.stderr})")
            check("has no revocation endpoint" in done.stdout, done.stdout)
    finally:
        provider.stop()


@case
def wrong_issuer_is_refused(world):
    """The issuer is compared byte by byte."""
    client = world.auth.register("authorization_code")
    np = Netproxy(world, mail(world, client, grant="authorization_code",
                              issuer=world.auth.base + "/"))
    np.write_config()
    done = np.command("login", "mail")
    equal(done.returncode, 1, "the exit status of login")
    check("another issuer" in done.stderr, done.stderr)


@case
def certificate_at_the_token_endpoint(world):
    """client_auth tls: nginx requires a client certificate and returns a token for it."""
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=app", "-keyout", world.path("app.key"),
         "-out", world.path("app.pem")])
    port = free_port()
    with open(world.path("mtls.conf"), "w", encoding="utf-8") as file:
        file.write(f"""
            daemon off; worker_processes 1; pid {world.path("mtls.pid")};
            error_log {world.path("mtls-error.log")};
            events {{ worker_connections 64; }}
            http {{
              access_log off;
              client_body_temp_path {world.path("body")};
              server {{
                listen 127.0.0.1:{port} ssl;
                ssl_certificate {world.path("server.pem")};
                ssl_certificate_key {world.path("server.key")};
                ssl_client_certificate {world.path("app.pem")};
                ssl_verify_client on;
                location = /token {{
                  default_type application/json;
                  return 200 '{{"access_token":"for-$ssl_client_verify","token_type":"Bearer","expires_in":60}}';
                }}
                location / {{ default_type text/plain; return 200 "$http_authorization"; }}
              }}
            }}
            """)
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    nginx = Child([program, "-e", world.path("mtls-error.log"), "-c", world.path("mtls.conf"),
                   "-p", world.directory], world.directory, "mtls-nginx")
    try:
        nginx.wait_for_port(port)
        channels = {"mail": {
            "upstream": f"https://127.0.0.1:{port}",
            "tls": {"ca": world.ca, "client_certificate": world.path("app.pem"),
                    "client_key": world.path("app.key")},
            "auth": {"oauth": {"token_url": f"https://127.0.0.1:{port}/token",
                               "client_id": "app", "client_auth": "tls"}}}}
        with Netproxy(world, channels) as np:
            equal(get(np, "/mail/x", 200), "Bearer for-SUCCESS", "what the API saw")
    finally:
        nginx.stop()


@case
def assertions_verify_with_other_software(world):
    """private_key_jwt and jwt_bearer: joserfc verifies the assertions at the token endpoint."""
    for kind, algorithm, arguments in (
            ("rsa", "RS256", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
            ("p256", "ES256", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
            ("ed25519", "EdDSA", ["-algorithm", "ED25519"])):
        key, public = world.path(kind + ".pem"), world.path(kind + ".pub")
        run(["openssl", "genpkey", *arguments, "-out", key])
        run(["openssl", "pkey", "-in", key, "-pubout", "-out", public])
        port = free_port()
        endpoint = Child([world.python, os.path.join(os.path.dirname(__file__), "authserver",
                                                     "assertions.py"),
                          str(port), public, algorithm], world.directory, "assertions-" + kind,
                         clean_environment())
        try:
            endpoint.wait_for_port(port)
            base = f"http://127.0.0.1:{port}"
            oauth = {"issuer": base, "token_url": base + "/token", "client_id": "app"}
            channels = {
                "ledger": {"upstream": base, "auth": {"oauth": {
                    **oauth, "client_auth": "private_key_jwt",
                    "client_key": {"key": "file:" + key, "id": "k1"}}}},
                "stock": {"upstream": base, "auth": {"oauth": {
                    **oauth, "grant": "jwt_bearer",
                    "assertion": {"key": "file:" + key, "subject": "alice"}}}},
            }
            with Netproxy(world, channels) as np:
                equal(get(np, "/ledger/x", 200), "app for app", "the client's assertion")
                equal(get(np, "/stock/x", 200), "app for alice", "the grant's assertion")
        finally:
            endpoint.stop()


@case
def bound_tokens_verify_with_other_software(world):
    """DPoP: joserfc verifies each proof, nonces change, and a revoked token is renewed."""
    for kind, algorithm, arguments in (
            ("rsa", "RS256", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
            ("p256", "ES256", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
            ("ed25519", "EdDSA", ["-algorithm", "ED25519"])):
        key = world.path("dpop-" + kind + ".pem")
        run(["openssl", "genpkey", *arguments, "-out", key])
        port = free_port()
        server = Child([world.python, os.path.join(os.path.dirname(__file__), "authserver",
                                                   "bound.py"), str(port), algorithm],
                       world.directory, "bound-" + kind, clean_environment())
        try:
            server.wait_for_port(port)
            base = f"http://127.0.0.1:{port}"
            channels = {"orders": {"upstream": base + "/v1", "auth": {"oauth": {
                "token_url": base + "/token", "client_id": "app", "client_auth": "none",
                "dpop_key": "file:" + key}}}}
            with Netproxy(world, channels) as np:
                for _ in range(7):
                    answer = json.loads(get(np, "/orders/42?x=1", 200))
                    equal(answer["token"], "token-1", "the token")
                answer = curl(np, np.url("/orders/import"), "-d", "x" * 20000,
                              "-H", "DPoP: the app's own")
                equal(json.loads(answer.body)["bytes"], 20000, "the upload")
                browse(base + "/revoke")
                check(json.loads(get(np, "/orders/42", 200))["token"] != "token-1", "renewed")
                counts = json.loads(browse(base + "/counts")[2])
                equal(counts["tokens"], 2, "token requests")
                equal(counts["requests"], 9, "requests that were served")
                # Once at both servers, and then at the API after each third request.
                check(3 <= counts["wanted"] <= 4, f"nonces that were wanted: {counts['wanted']}")
                why = eventually(
                    lambda: [x["retries"] for x in np.exchanges("orders") if "retries" in x],
                    "retries in the log")
                check(["dpop_proof"] in why, f"the log's retries: {why}")
        finally:
            server.stop()
