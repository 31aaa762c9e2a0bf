"""HTTP/2 with software of other authors.

The upstreams are nginx, nghttpd and hypercorn; the clients are curl, h2load, httpx and the JDK.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import string
import subprocess

from cases_clients import finished, program
from harness import Child, Failure, Skipped, case, check, clean_environment, equal, eventually, \
    free_port
from proxy import Netproxy
from traffic import curl, storm
from world import HERE, read_json_lines, run

APPS = {"HTTP/1.1": "--http1.1", "HTTP/2": "--http2-prior-knowledge"}
BIG, POSTED = 10 << 20, 1 << 20


def system_program(name, package):
    """Returns the path of a program that can be outside of the user's path, or skips the case."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise Skipped(f"{name} is not installed (Debian: {package})")
    return found


class Origin:
    """An HTTP/2 server of one or more child processes, over TLS and with prior knowledge."""

    echoes = False      # whether an upload is returned unchanged, not counted

    def __init__(self, world):
        self.world, self.children = world, []
        self.directory = world.path(world.unique("origin"))
        os.makedirs(self.directory)
        self.tls_port, self.plain_port = free_port(), free_port()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.stop()

    def run(self, name, arguments, *ports, **variables):
        child = Child(arguments, self.directory, name, clean_environment(**variables))
        self.children.append(child)
        for port in ports:
            child.wait_for_port(port)

    def channels(self, **keys):
        """Returns the channels for both ways to reach it."""
        return {
            "auto": {"upstream": f"https://localhost:{self.tls_port}", "http": "auto",
                     "tls": {"ca": self.world.ca}, **keys},
            "prior": {"upstream": f"http://127.0.0.1:{self.plain_port}", "http": "http2", **keys},
        }


class Hypercorn(Origin):
    def start(self):
        self.run(
            "hypercorn",
            [self.world.python, "-B", "-m", "hypercorn", "--keep-alive", "60",
             "--bind", f"127.0.0.1:{self.tls_port}",
             "--insecure-bind", f"127.0.0.1:{self.plain_port}", "--certfile",
             self.world.path("server.pem"), "--keyfile", self.world.path("server.key"),
             "asgi_app:application"],
            self.tls_port, self.plain_port, PYTHONPATH=HERE,
            FILES_DIRECTORY=self.world.path("files"))


class Nginx(Origin):
    """nginx; it forwards posted content to hypercorn, and the API to the authorization server."""

    def start(self):
        command = system_program("nginx", "nginx-light")
        count_port, self.brief_port = free_port(), free_port()
        self.run(
            "count",
            [self.world.python, "-B", "-m", "hypercorn", "--bind", f"127.0.0.1:{count_port}",
             "asgi_app:application"],
            count_port, PYTHONPATH=HERE, FILES_DIRECTORY=self.world.path("files"))
        with open(os.path.join(HERE, "templates", "nginx_http2.conf"), encoding="utf-8") as file:
            template = string.Template(file.read())
        text = template.safe_substitute(
            own=self.directory, dir=self.world.directory, tls_port=self.tls_port,
            plain_port=self.plain_port, brief_port=self.brief_port, count_port=count_port,
            api_port=self.world.auth.port)
        path = os.path.join(self.directory, "nginx.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.run("nginx", [command, "-e", os.path.join(self.directory, "error.log"), "-c", path,
                           "-p", self.directory], self.tls_port, self.plain_port)

    def arrived(self, part, count=1):
        """Waits for `count` records of nginx for URIs that contain the text, and returns them."""
        path = os.path.join(self.directory, "access.jsonl")

        def probe():
            found = [each for each in read_json_lines(path) if part in each["uri"]]
            return found if len(found) >= count else None

        return eventually(probe, f"nginx logs {count} request(s) for {part}", 10)

    def api_channel(self, client, **keys):
        """Returns a channel to the protected API with the client's credential."""
        return {**self.world.oauth_channel(client, **keys), "http": "auto",
                "upstream": f"https://localhost:{self.tls_port}/api"}


class Nghttpd(Origin):
    echoes = True

    def start(self):
        command = system_program("nghttpd", "nghttp2-server")
        common = [command, "--echo-upload", "-a", "127.0.0.1", "-d", self.world.path("files")]
        self.run("tls", [*common, str(self.tls_port), self.world.path("server.key"),
                         self.world.path("server.pem")], self.tls_port)
        self.run("plain", [*common, "--no-tls", str(self.plain_port)], self.plain_port)


def everyday(world, proxy, channel, version, origin):
    """Runs typical requests with curl in one version of HTTP."""
    flag, what = APPS[version], f"{version} by {channel}"

    def ask(path, *arguments):
        answer = curl(proxy, flag, *arguments, proxy.url(f"/{channel}{path}"))
        equal(answer.exit_code, 0, f"curl's exit code for {path}, {what} ({answer})")
        equal(answer.version, version, f"version of the answer to {path}, {what}")
        return answer

    answer = ask("/hello.txt")
    equal((answer.status, answer.body), (200, b"hello from nginx\n"), f"a small GET, {what}")
    answer = ask("/hello.txt", "-I")
    equal(answer.status, 200, f"HEAD, {what}")
    equal(answer.fields.get("content-length"), "17", f"Content-Length for HEAD, {what}")
    path, digest = world.random_file("files", "ten.bin", size=BIG)
    answer = ask("/ten.bin")
    equal((answer.status, len(answer.body)), (200, BIG), f"length of a download, {what}")
    equal(hashlib.sha256(answer.body).hexdigest(), digest, f"SHA-256 of a download, {what}")
    path, digest = world.random_file("posted.bin", size=POSTED)
    answer = ask("/count", "-H", "Expect:", "--data-binary", "@" + path)
    equal(answer.status, 200, f"an upload, {what} ({answer})")
    if origin.echoes:
        equal(hashlib.sha256(answer.body).hexdigest(), digest, f"what came back, {what}")
    else:
        equal(json.loads(answer.body), {"length": POSTED, "sha256": digest}, f"counted, {what}")
    answer = ask("/no-such-file.txt")
    equal(answer.status, 404, f"what does not exist, {what}")


def expect_http2_upstream(proxy, channel):
    """Checks that every exchange in the log used HTTP/2 upstream."""
    lines = eventually(lambda: len(proxy.exchanges(channel)) >= 10 and proxy.exchanges(channel),
                       f"{channel}.log has its lines")
    versions = {line["protocol"].removesuffix(".0") for line in lines}
    equal(versions, {"HTTP/2"}, f"protocol in {channel}.log")


def origin_in_every_way(world, make):
    with make(world) as origin, Netproxy(world, origin.channels()) as proxy:
        for channel in ("auto", "prior"):
            for version in APPS:
                everyday(world, proxy, channel, version, origin)
            expect_http2_upstream(proxy, channel)
        return origin


@case
def http2_to_nginx_in_every_way(world):
    origin = origin_in_every_way(world, Nginx)
    seen = origin.arrived("/", 20)
    equal({each["protocol"] for each in seen}, {"HTTP/2.0"}, "protocol in nginx's log")
    # At most two workers, and curl's connections one after the other.
    count = len({each["connection"] for each in seen})
    check(count <= 8, f"{len(seen)} requests needed {count} connections")


@case
def http2_to_nghttpd_in_every_way(world):
    origin_in_every_way(world, Nghttpd)


@case
def http2_to_hypercorn_in_every_way(world):
    origin_in_every_way(world, Hypercorn)


@case
def http2_app_to_an_http1_origin(world):
    """Includes `http: auto` with a server that offers only HTTP/1.1."""
    client = world.auth.register()
    channels = {"static": world.channel("/files"), "auto": world.channel("/files", http="auto"),
                "orders": world.oauth_channel(client)}
    _, digest = world.random_file("files", "ten.bin", size=BIG)
    posted, posted_digest = world.random_file("posted.bin", size=POSTED)
    with Netproxy(world, channels) as proxy:
        for version, flag in APPS.items():
            for channel in ("static", "auto"):
                answer = curl(proxy, flag, proxy.url(f"/{channel}/hello.txt"))
                equal((answer.status, answer.body), (200, b"hello from nginx\n"), "a small GET")
                equal(answer.version, version, "version of the answer")
                answer = curl(proxy, flag, "-I", proxy.url(f"/{channel}/hello.txt"))
                equal((answer.status, answer.fields.get("content-length")), (200, "17"), "HEAD")
                answer = curl(proxy, flag, proxy.url(f"/{channel}/ten.bin"))
                equal(hashlib.sha256(answer.body).hexdigest(), digest, "SHA-256 of a download")
                answer = curl(proxy, flag, proxy.url(f"/{channel}/no-such-file"))
                equal(answer.status, 404, "what does not exist")
            answer = curl(proxy, flag, "-H", "Expect:", "--data-binary", "@" + posted,
                          proxy.url("/orders/" + world.unique("upload")))
            equal(answer.status, 200, f"an upload ({answer})")
            body = json.loads(answer.body)
            equal((body["length"], body["sha256"]), (POSTED, posted_digest), "what arrived")
        eventually(lambda: [line for line in proxy.exchanges("auto")
                            if line["path"].endswith("hello.txt")], "lines in auto.log")
    seen = world.arrived("hello.txt")
    equal({each["protocol"] for each in seen}, {"HTTP/1.1"}, "protocol in nginx's log")


@case
def http2_upgrade_from_http1_is_not_taken(world):
    """RFC 9113 section 3.1 removed this upgrade: the response uses HTTP/1.1."""
    with Netproxy(world, {"static": world.channel("/files")}) as proxy:
        answer = curl(proxy, "--http2", proxy.url("/static/hello.txt"))
        equal((answer.statuses, answer.body), ([200], b"hello from nginx\n"), "the answer")
        equal(answer.version, "HTTP/1.1", "its version")


def load(proxy, target, *arguments, total=2000):
    """Runs h2load through the daemon; every response must be 2xx."""
    command = system_program("h2load", "nghttp2-client")
    try:
        done = subprocess.run(
            [command, "-n", str(total), *arguments, proxy.url(target)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90,
            env=clean_environment())
    except subprocess.TimeoutExpired:
        raise Failure(f"h2load {target} did not end within 90 s") from None
    text = done.stdout.decode(errors="replace")
    found = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    check(found, f"h2load {target}: {text[-600:]}")
    equal([int(count) for count in found.groups()], [total, 0, 0, 0],
          f"2xx, 3xx, 4xx and 5xx of h2load {target}")
    check(re.search(r" 0 failed, 0 errored, 0 timeout", text), f"h2load {target}: {text[-600:]}")


MULTIPLEXED = ("-c", "4", "-m", "32")


@case
def http2_many_requests_at_once(world):
    """Sends 2000 requests, 128 at a time, to each kind of origin, and from an HTTP/1.1 client to HTTP/2."""
    posted, _ = world.random_file("posted-small.bin", size=20000)
    with Nginx(world) as nginx, \
            Netproxy(world, {**nginx.channels(), "static": world.channel("/files")}) as proxy:
        for channel in ("auto", "prior", "static"):
            load(proxy, f"/{channel}/hello.txt", *MULTIPLEXED)
        load(proxy, "/auto/hello.txt", "--h1", "-c", "64")
        load(proxy, "/auto/count", *MULTIPLEXED, "-d", posted, total=500)
        load(proxy, "/auto/words.txt", *MULTIPLEXED, total=500)
        # A multiplexed upstream does not need a connection for each request.
        count = len({each["connection"] for each in nginx.arrived("/hello.txt", 6000)})
        check(count <= 64, f"6000 requests at once needed {count} connections")
    with Nghttpd(world) as nghttpd, Netproxy(world, nghttpd.channels()) as proxy:
        for channel in ("auto", "prior"):
            load(proxy, f"/{channel}/hello.txt", *MULTIPLEXED)


@case
def http2_ends_of_connections_cost_no_request(world):
    """nginx ends each connection after seven requests, with a GOAWAY."""
    posted, _ = world.random_file("posted-small.bin", size=20000)
    with Nginx(world) as nginx:
        channel = {"upstream": f"https://localhost:{nginx.brief_port}", "http": "auto",
                   "tls": {"ca": world.ca}}
        # Requests beyond the GOAWAY were not processed and can be repeated without a retry setting.
        with Netproxy(world, {"brief": channel}) as proxy:
            load(proxy, "/brief/hello.txt", "-c", "4", "-m", "8", total=1000)
            load(proxy, "/brief/count", "-c", "2", "-m", "8", "-d", posted, total=300)
            seen = storm(proxy.port, "/brief/hello.txt", total=500, in_flight=16)
            equal(seen, {200: 500}, "statuses of HTTP/1.1 apps")
            ends = [each for each in nginx.arrived("/", 1800) if each["connection_requests"] == 7]
            check(len(ends) > 50, f"only {len(ends)} connections ended: the case proved nothing")


@case
def http2_token_revoked_is_renewed_and_the_request_replayed(world):
    client, size = world.auth.register(), 40 * 1024
    path, digest = world.random_file(world.unique("replay") + ".bin", size=size)
    with Nginx(world) as nginx, \
            Netproxy(world, {"orders": nginx.api_channel(client)}) as proxy:
        for version, flag in APPS.items():
            answer = curl(proxy, flag, proxy.url("/orders/" + world.unique("first")))
            equal(answer.status, 200, f"status of the first request ({answer})")
            world.auth.revoke(client)
            mark, word = world.auth.mark(), world.unique("replay")
            answer = curl(proxy, flag, "-H", "Expect:", "--data-binary", "@" + path,
                          proxy.url(f"/orders/{word}"))
            equal(answer.statuses, [200], f"statuses the {version} app saw ({answer})")
            body = json.loads(answer.body)
            equal((body["length"], body["sha256"]), (size, digest), "what the API received")
            requests = world.auth.token_requests(client, mark)
            equal([each["status"] for each in requests], [200], "token requests")
            seen = world.auth.api_requests(word)
            equal([each["status"] for each in seen], [401, 200], "attempts that the API saw")
            equal({(each["body_length"], each["body_sha256"]) for each in seen},
                  {(size, digest)}, "body of both attempts")
            line = proxy.exchange("orders", word)
            equal((line["attempts"], line["retries"]), (2, ["unauthorized"]), "its log")
            equal({each["protocol"] for each in nginx.arrived(word, 2)}, {"HTTP/2.0"},
                  "protocol in nginx's log")


@case
def http2_storm_of_401s_costs_one_token_request(world):
    client = world.auth.register()
    with Nginx(world) as nginx, \
            Netproxy(world, {"orders": nginx.api_channel(client)}) as proxy:
        curl(proxy, proxy.url("/orders/" + world.unique("first")))
        world.auth.revoke(client)
        mark, word = world.auth.mark(), world.unique("storm")
        load(proxy, f"/orders/{word}", *MULTIPLEXED, total=600)
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests")
        refused = [each for each in world.auth.api_requests(word) if each["status"] == 401]
        check(refused, "no attempt carried the revoked token: the case proved nothing")


HTTPX = """
import asyncio, sys
import httpx

async def main(url):
    async with httpx.AsyncClient(http1=False, http2=True, trust_env=False, timeout=20) as client:
        answers = await asyncio.gather(*(client.get(url) for _ in range(200)))
        assert {each.status_code for each in answers} == {200}, answers
        assert {each.http_version for each in answers} == {"HTTP/2"}, answers
        answer = await client.post(url.rpartition("/")[0] + "/count", content=b"x" * 300000)
        assert answer.json()["length"] == 300000, answer.text
    print("ok")

asyncio.run(main(sys.argv[1]))
"""


@case
def client_httpx_by_http2(world):
    with Hypercorn(world) as origin, Netproxy(world, origin.channels()) as proxy:
        for channel in ("auto", "prior"):
            finished([world.python, "-c", HTTPX, proxy.url(f"/{channel}/hello.txt")],
                     f"httpx by {channel}")


@case
def client_java_to_an_http2_origin(world):
    """The JDK's HttpClient offers its upgrade and gets HTTP/1.1; the origin gets HTTP/2."""
    java = program("java")
    program("javac")
    classes = world.path("java")
    if not os.path.exists(classes):
        run(["javac", "-d", classes, os.path.join(HERE, "clients", "JavaClient.java")])
    client, word = world.auth.register(), world.unique("java")
    with Nginx(world) as nginx, \
            Netproxy(world, {"orders": nginx.api_channel(client)}) as proxy:
        for version in ("default", "http1"):
            finished([java, "-XX:TieredStopAtLevel=1", "-cp", classes, "JavaClient", version,
                      "base", proxy.url(f"/orders/{word}"), proxy.url("")],
                     f"Java's client, {version}")
        equal({each["protocol"] for each in nginx.arrived(word, 12)}, {"HTTP/2.0"},
              "protocol in nginx's log")


def pin_of(certificate):
    """Returns the pin of a certificate's key (RFC 7469)."""
    der = subprocess.run(
        f"openssl x509 -in {certificate} -noout -pubkey | openssl pkey -pubin -outform DER",
        shell=True, check=True, capture_output=True, timeout=30).stdout
    return "sha256/" + base64.b64encode(hashlib.sha256(der).digest()).decode()


@case
def http2_holds_what_tls_demands(world):
    """Pins, client certificates, a corporate proxy in between, and upgrades, which use HTTP/1.1."""
    with Nginx(world) as origin:
        upstream = f"https://localhost:{origin.tls_port}"
        tunnel = Netproxy(world, {"none": {"stub": [{"status": 404}]}},
                          connect=[f"localhost:{origin.tls_port}"])
        with tunnel as corporate, Netproxy(world, {
                "pinned": {"upstream": upstream,
                           "tls": {"ca": world.ca, "pins": [pin_of(world.path("server.pem"))]}},
                "unpinned": {"upstream": upstream, "retry": {"attempts": 0},
                             "tls": {"ca": world.ca, "pins": ["sha256/" + "A" * 43 + "="]}},
                "strange": {"upstream": upstream, "retry": {"attempts": 0}},
                "inside": {"upstream": upstream, "tls": {"ca": world.ca},
                           "proxy": corporate.url("")}}) as proxy:
            for channel in ("pinned", "inside"):
                equal(curl(proxy, proxy.url(f"/{channel}/small.txt")).status in (200, 404), True,
                      f"answer through {channel}")
                equal(proxy.exchange(channel, "/small.txt")["protocol"], "HTTP/2",
                      f"protocol of {channel}")
            for channel in ("unpinned", "strange"):
                answer = curl(proxy, proxy.url(f"/{channel}/small.txt"))
                equal(answer.status, 502, f"status of {channel}")
                equal(json.loads(answer.body)["type"], "urn:netproxy:error:tls_certificate_error",
                      f"error of {channel}")
            asked = curl(proxy, "--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
                         proxy.url("/pinned/upgrade"))
            check(asked.status in (200, 404), f"status of an upgrade that is not taken: {asked.status}")
            equal(proxy.exchange("pinned", "/upgrade")["protocol"], "HTTP/1.1",
                  "protocol of an upgrade")

