"""An MCP server of which netproxy knows only the URL: fastmcp at both ends, the sign-in in between.

The server registers clients, signs in every user and requires a token; the client has none. See mcp_tools.
"""

import json
import os
import subprocess
import urllib.request
from urllib.parse import parse_qs, urlsplit

from cases_grants import Login, browse
from cases_readme import GUIDE, block
from etcd import Cluster
from harness import Child, Failure, case, check, clean_environment, equal, eventually, free_port
from machines import key_setting, new_state_key, state_in
from proxy import Netproxy
from traffic import curl
from world import HERE, read_json_lines

TOOLS = os.path.join(HERE, "mcp_tools")
PLACE = "/.well-known/oauth-protected-resource"


class Server:
    """The MCP server as a child process, which can be restarted on its port."""

    def __init__(self, world):
        self.world, self.port = world, free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.log = world.path(world.unique("mcp") + ".jsonl")
        self.child = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.child.stop()

    def start(self, *arguments):
        if self.child:
            self.child.stop()
        self.child = Child(
            [self.world.python, "-B", os.path.join(TOOLS, "server.py"), str(self.port), self.log,
             *arguments], self.world.directory, self.world.unique("mcp"))
        self.child.wait_for_port(self.port)

    def control(self, action):
        request = urllib.request.Request(f"{self.base}/control/{action}", method="POST")
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.loads(response.read())

    def requests(self, path):
        """Returns the requests to an endpoint of the authorization server."""
        return [each for each in read_json_lines(self.log) if each["path"] == path]

    def forms(self, grant):
        """Returns the token requests with a grant."""
        forms = [{name: values[0] for name, values in parse_qs(each["body"]).items()}
                 for each in self.requests("/token")]
        return [form for form in forms if form["grant_type"] == grant]

    def every_secret(self):
        found = set()
        for each in self.requests("/token") + self.requests("/register"):
            try:
                answer = json.loads(each["answer"])
            except ValueError:
                continue
            for name in ("access_token", "refresh_token", "client_secret"):
                if answer.get(name):
                    found.add(answer[name])
        return found


def netproxy(world, server, **keys):
    """Returns a daemon with the guide's example and further top-level keys."""
    text = block("yaml", "discover: true", f"{GUIDE}/MCP.md")
    check("https://tools.example.com/mcp" in text, "the guide's example has another upstream")
    np = Netproxy(world, {}, **keys)
    del np.config["channels"]
    np.write_config = lambda: write(np, text.replace("https://tools.example.com", server.base))
    np.secret_sources.append(server)
    return np


def write(np, channels):
    head = "".join(f"{name}: {json.dumps(value)}\n" for name, value in np.config.items())
    with open(np.config_path, "w", encoding="utf-8") as file:
        file.write(head + channels)


def log_in(np, *arguments):
    """Runs `netproxy login tools` with a browser; returns the page's query and the printed output."""
    login = Login(np, "--no-browser", *arguments, name="tools")
    page = login.line(r"(http://\S+/authorize\?\S+)")
    status, location, text = browse(page)
    equal(status, 302, f"the status of the sign-in page ({text[:200]})")
    status, _, text = browse(location)
    equal(status, 200, f"the status of the redirect ({location}: {text[-600:]})")
    text = login.end()
    check("You are signed in to tools." in text, "the terminal is told")
    return {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}, text


def app(np, *arguments, status=0):
    """Returns the output of the client, which has no token."""
    try:
        done = subprocess.run(
            [np.world.python, "-B", os.path.join(TOOLS, "client.py"), np.url("/tools"), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            env=clean_environment(HOME=np.directory))
    except subprocess.TimeoutExpired:
        raise Failure("the app did not end within 60 s") from None
    text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    equal(done.returncode, status, f"exit code of the app ({text[-600:]})")
    return json.loads(done.stdout.splitlines()[-1])


def works(np, *arguments):
    equal(app(np, *arguments), {"tools": ["add", "greet"], "sum": 42, "text": "hello netproxy"},
          "what the app got")


@case
def mcp_tools_by_url_with_sign_in_refresh_and_logout(world):
    """RFC 9728, RFC 8414, RFC 7591, PKCE and RFC 8707; then an expired token and a sign-out."""
    with Server(world) as server, netproxy(world, server) as np:
        answer = curl(np, np.url("/tools"))
        equal(answer.status, 503, "status before the sign-in")
        check(b"netproxy login tools" in answer.body, "the app is told what to do")
        equal(server.requests(PLACE + "/mcp"), [], "requests before the sign-in")

        page, text = log_in(np)
        check(f"is protected by {server.base}/." in text, f"the server is shown: {text}")
        equal(page["resource"], server.base + "/mcp", "resource of the page")
        equal(page["scope"], "tools", "scope of the page")
        equal(page["code_challenge_method"], "S256", "PKCE")
        registration = json.loads(server.requests("/register")[0]["body"])
        equal(registration["application_type"], "native", "type of the client")
        equal(registration["redirect_uris"], [page["redirect_uri"]], "redirect that was registered")
        equal(server.forms("authorization_code")[0]["resource"], server.base + "/mcp", "resource")

        works(np)
        # A client with its own sign-in has no reason to use it.
        works(np, "--oauth")

        server.control("expire")
        works(np)
        refreshes = server.forms("refresh_token")
        equal(len(refreshes), 1, "refreshes")
        equal(refreshes[0]["resource"], server.base + "/mcp", "resource of the refresh")

        # The next sign-in uses the same client.
        again, _ = log_in(np)
        equal((again["client_id"], again["redirect_uri"]),
              (page["client_id"], page["redirect_uri"]), "the client of the second sign-in")
        works(np)
        status = json.loads(np.command("status", "--json").stdout)
        equal(status["channels"][0]["token"]["issuer"], server.base + "/", "issuer in the status")

        # The token of the first sign-in stays until it expires.
        before = server.control("look")["tokens"]
        done = np.command("logout", "tools")
        equal(done.returncode, 0, f"the exit status of logout ({done.stderr})")
        check("revoked the refresh token" in done.stdout, done.stdout)
        equal(server.control("look")["tokens"], before - 1, "tokens that the server still knows")
        equal(curl(np, np.url("/tools")).status, 503, "status after the sign-out")


@case
def mcp_server_that_revoked_gives_no_way_past_netproxy(world):
    with Server(world) as server, netproxy(world, server) as np:
        log_in(np)
        works(np)
        server.control("revoke")
        known = len(server.control("look")["clients"])
        # netproxy's own 401 contains nothing that leads to the server.
        answer = curl(np, "-H", "Content-Type: application/json", "--data", "{}", np.url("/tools"))
        equal(answer.status, 401, f"status of the first request ({answer})")
        challenge = answer.fields.get("www-authenticate", "")
        check("Bearer" in challenge and "resource_metadata" not in challenge, challenge)
        for place in (PLACE, PLACE + "/mcp", "/.well-known/oauth-authorization-server"):
            equal(curl(np, np.url("/tools" + place)).status, 404, f"status of {place}")
        before = len(server.requests("/authorize"))
        check("error" in app(np, "--oauth", status=1), "the app cannot work")
        equal(len(server.control("look")["clients"]), known, "clients at the server")
        equal(len(server.requests("/authorize")), before, "sign-ins at the server")
        equal(curl(np, np.url("/tools")).status, 503, "status from then on")
        log_in(np)
        works(np)


@case
def mcp_server_that_changed_is_refused(world):
    with Server(world) as server, netproxy(world, server) as np:
        log_in(np)
        server.start(f"{server.base}/other")
        done = np.command("login", "tools", "--no-browser")
        equal(done.returncode, 1, "the exit status of login")
        check(f"was {server.base}/ and is now {server.base}/other" in done.stderr, done.stderr)
        check("netproxy logout tools" in done.stderr, done.stderr)
        equal(len(server.requests("/register")), 1, "registrations")


@case
def mcp_client_that_was_forgotten_is_registered_again(world):
    with Server(world) as server, netproxy(world, server) as np:
        first, _ = log_in(np)
        server.control("forget")
        curl(np, np.url("/tools"))
        status = json.loads(np.command("status", "--json").stdout)
        equal(status["channels"][0]["token"]["state"], "dead", "state of the token")
        second, _ = log_in(np)
        check(first["client_id"] != second["client_id"], "another client was registered")
        works(np)


@case
def mcp_scope_that_is_missed_is_asked_for(world):
    with Server(world) as server, netproxy(world, server) as np:
        first, _ = log_in(np)
        server.control("demand")
        answer = curl(np, "-H", "Content-Type: application/json", "--data", "{}", np.url("/tools"))
        equal(answer.status, 403, f"status without the scope ({answer})")
        challenge = answer.fields.get("www-authenticate", "")
        check("insufficient_scope" in challenge and "resource_metadata" not in challenge, challenge)
        token = json.loads(np.command("status", "--json").stdout)["channels"][0]["token"]
        check("write" in token.get("wanted_scope", ""), f"scope in the status: {token}")
        page, _ = log_in(np)
        equal(sorted(page["scope"].split()), ["tools", "write"], "scopes of the page")
        equal(page["client_id"], first["client_id"], "the client of the second sign-in")
        works(np)


@case
def mcp_scope_by_hand_joins_the_others(world):
    with Server(world) as server, netproxy(world, server) as np:
        page, _ = log_in(np, "--scope", " write ")
        equal(page["scope"], "tools write", "scopes of the page")
        works(np)


@case
def a_sign_in_by_url_reaches_other_machines(world):
    """Other machines use the server, client and token that one machine found, and learn of them from etcd,
    even if etcd was unavailable when they started."""
    with Server(world) as server, Cluster(world) as cluster:
        keys = {"state": state_in(cluster), "state_key": key_setting(new_state_key(world))}
        with netproxy(world, server, **keys) as first, netproxy(world, server, **keys) as second:
            equal(curl(second, second.url("/tools")).status, 503, "status before the sign-in")
            log_in(first)
            expect_sign_in(second)
            works(first)
            for member in cluster.members:
                cluster.kill(member)
            with netproxy(world, server, **keys) as third:
                equal(curl(third, third.url("/tools")).status, 503, "status without etcd")
                cluster.start()
                expect_sign_in(third)
            equal(len(server.requests("/register")), 1, "clients that were registered")


def expect_sign_in(np):
    """Waits until the daemon has a token, and makes the client use it."""
    eventually(lambda: curl(np, np.url("/tools")).status != 503, "the sign-in is taken over", 30)
    works(np)
