"""One sign-in for several channels, and several credentials of one API."""

import http.server
import json
import threading

from cases_grants import Login, browse, forms, get
from cases_readme import block
from harness import case, check, equal
from proxy import Netproxy, to_yaml
from traffic import curl

PAGE = "Sources/Daemon/Documentation.docc/Guide/Identities.md"


def shared(world, client):
    """Returns two channels to the protected API with one sign-in by alice; one has fewer scopes."""
    oauth = {"grant": "authorization_code", "issuer": world.auth.base,
             "client_id": client.client_id, "client_auth": "none", "scopes": ["read", "write"]}
    channels = {
        "mail": world.channel("/api", auth={"identity": "work"}),
        "drive": world.channel("/api", auth={"identity": "work", "scopes": ["read"]}),
    }
    return channels, {"work": {"oauth": oauth}}


@case
def one_login_serves_the_channels_of_an_identity(world):
    client = world.auth.register("authorization_code")
    channels, identities = shared(world, client)
    mark = world.auth.mark()
    with Netproxy(world, channels, identities=identities) as np:
        for path in ("/mail/", "/drive/"):
            text = get(np, path + world.unique("before"), 503)
            check("netproxy login work" in text, f"the app is told to sign in ({text})")
        login = Login(np, name="work")
        status, location, _ = browse(login.line(r"(http://\S+/o/authorize/\S+)"))
        equal(status, 302, "the status of the authorization page")
        equal(browse(location)[0], 200, "the status of the redirect")
        check("You are signed in to work." in login.end(), "the terminal is told")
        for path in ("/mail/", "/drive/"):
            get(np, path + world.unique("after"), 200)
        asked = forms(world, client, "refresh_token", mark)
        equal([record["status"] for record in asked], [200], "refreshes")
        equal(asked[0]["scope"], "read", "the scope that the second channel asks for")
        document = json.loads(np.command("status", "--json").stdout)
        equal([identity["name"] for identity in document["identities"]], ["work"], "identities")
        equal(document["identities"][0]["channels"], ["mail", "drive"], "its channels")
        lines = np.command("token", "work").stdout.splitlines()
        check(len(lines) == 2 and all(line.startswith("work: fresh") for line in lines), str(lines))
        equal(np.command("token", "drive", "--refresh").returncode, 0, "token --refresh")
        done = np.command("logout", "mail")
        equal(done.returncode, 0, f"the exit status of logout ({done.stderr})")
        for path in ("/mail/", "/drive/"):
            get(np, path + world.unique("gone"), 503)


class Limited(http.server.ThreadingHTTPServer):
    """An API that limits selected keys, and returns the received key."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.limits, self.seen = {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Ignores resets: a daemon that stops resets its idle connections."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        key = self.headers.get("X-Key", "none")
        self.server.seen.append((key, content))
        status, fields = self.server.limits.get(key, (200, {}))
        body = key.encode()
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST


@case
def a_limited_key_gives_way_and_content_goes_again(world):
    keys = {name: {"header": {"name": "X-Key", "value": "literal:" + name}}
            for name in ("work", "spare")}
    with Limited() as api:
        channel = {"upstream": api.base, "auth": {"identity": ["work", "spare"]}}
        with Netproxy(world, {"api": channel}, identities=keys) as np:
            api.limits["work"] = (429, {"Retry-After": "60"})
            for number in range(3):
                answer = curl(np, "--data-binary", f"content {number}", np.url("/api/x"))
                equal((answer.status, answer.body), (200, b"spare"), "the answer")
            equal([key for key, _ in api.seen], ["work", "spare", "spare", "spare"], "keys")
            equal(api.seen[1][1], b"content 0", "what the second key was sent with")
            api.limits["spare"] = (429, {"Retry-After": "90"})
            answer = curl(np, np.url("/api/x"))
            equal(answer.status, 429, "the status when all are limited")
            equal(answer.fields.get("retry-after"), "90", "its Retry-After")


@case
def exec_as_an_identity_uses_it_alone(world):
    keys = {name: {"header": {"name": "X-Key", "value": "literal:" + name}}
            for name in ("work", "private")}
    with Limited() as api:
        channel = {"upstream": api.base, "auth": {"identity": ["work", "private"]}}
        with Netproxy(world, {"api": channel}, identities=keys) as np:
            script = 'curl -s -x "$http_proxy" ' + api.base + "/x"
            done = np.command("exec", "--as", "private", "--config", np.config_path, "--",
                              "sh", "-c", script, config=False)
            equal((done.returncode, done.stdout), (0, "private"), f"exec --as ({done.stderr})")
            api.limits["private"] = (429, {"Retry-After": "5"})
            done = np.command("exec", "--as", "private", "--config", np.config_path, "--",
                              "sh", "-c", script + " -o /dev/null -w '%{http_code}'", config=False)
            equal(done.stdout, "429", "the limit of the one that was chosen")
            done = np.command("exec", "--as", "nobody", "--config", np.config_path, "--", "true",
                              config=False)
            check(done.returncode == 1 and "they use private, work" in done.stderr, done.stderr)
            equal({key for key, _ in api.seen}, {"private"}, "keys that the API saw")


def as_written(np, text):
    """Replaces the daemon's addresses and directories in the text of a page."""
    del np.config["channels"]
    written = f"{to_yaml(np.config)}\n{text}"
    np.write_config = lambda: Netproxy.write_config(np, written)
    return np


@case
def identities_guide_one_sign_in(world):
    """Runs the commands of the page's first example, with another server."""
    client = world.auth.register("authorization_code")
    text = block("yaml", "google:", PAGE)
    for old, new in {
        "https://accounts.google.com": world.auth.base,
        "example.apps.googleusercontent.com": client.client_id,
        "file:/etc/netproxy/google.secret": "file:" + world.secret_file(client.secret),
        "calendar.readonly": "read", "drive.readonly": "write",
        "https://www.googleapis.com/calendar/v3": world.origin + "/api",
        "https://www.googleapis.com/drive/v3": world.origin + "/api",
    }.items():
        check(old in text, f"the page has {old}")
        text = text.replace(old, new)
    # That server asks the person again if the page says so, and the API has a certificate of the private CA.
    text = text.replace("access_type: offline, prompt: consent", "access_type: offline")
    text += f"defaults: {{ tls: {{ ca: {world.ca} }} }}\n"
    with as_written(Netproxy(world, {}), text) as np:
        login = Login(np, name="google")
        _, location, _ = browse(login.line(r"(http://\S+/o/authorize/\S+)"))
        equal(browse(location)[0], 200, "the status of the redirect")
        login.end()
        for path in ("/calendar/", "/drive/"):
            get(np, path + world.unique("guide"), 200)
        lines = np.command("token", "google").stdout.splitlines()
        equal(len(lines), 2, f"one line for each set of scopes ({lines})")
        equal(np.command("logout", "google").returncode, 0, "the exit status of logout")


@case
def identities_guide_two_accounts(world):
    """Runs the page's second example, with another API."""
    with Limited() as api:
        text = block("yaml", "work:", PAGE).replace("https://search.example.com", api.base)
        for name in ("work", "spare"):
            text = text.replace(f"file:/etc/netproxy/{name}.key", "file:" + world.secret_file(name))
        text = text.replace("X-Api-Key", "X-Key")
        api.limits["work"] = (429, {"Retry-After": "60"})
        with as_written(Netproxy(world, {}), text) as np:
            part = world.unique("search")
            equal(curl(np, np.url("/search/" + part)).body, b"spare", "the key that is used")
            equal(np.exchange("search", part)["retries"], ["status_429"], "retries in the log")
