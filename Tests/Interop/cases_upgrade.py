"""Tunnels (WebSocket, CONNECT), pip through the proxy, and small Python servers as upstreams."""

import gzip
import hashlib
import http.client
import json
import os
import subprocess
import sys
import zipfile
from contextlib import contextmanager

from harness import Child, case, check, clean_environment, equal, eventually, free_port
from proxy import Netproxy
from world import HERE, read_json_lines, run

PEER = os.path.join(HERE, "clients", "websocket_peer.py")


@contextmanager
def serving(world, arguments, port, name):
    """Runs a server during a case."""
    child = Child(arguments, world.directory, world.unique(name),
                  clean_environment(HOME=world.directory, PYTHONDONTWRITEBYTECODE="1"))
    try:
        child.wait_for_port(port)
        yield
    finally:
        child.stop()


def websocket_server(world, *pair):
    port = free_port()
    return port, serving(world, [world.python, PEER, "serve", str(port), *pair], port, "websocket")


def seen_by(world, url, *proxy):
    return json.loads(run([world.python, PEER, "check", url, *proxy], seconds=150,
                          env=clean_environment()))


def same(direct, through, but=()):
    """Fails at the first difference between the client's observations with and without the proxy."""
    equal(sorted(through), sorted(direct), "what was seen")
    for name, value in direct.items():
        if name not in but:
            equal(through[name], value, name)


@case
def websocket_to_plain_upstream(world):
    port, server = websocket_server(world)
    with server, Netproxy(world, {"ws": {
        "upstream": f"http://127.0.0.1:{port}", "auth": {"bearer": "literal:for-the-handshake"},
    }}) as proxy:
        direct = seen_by(world, f"ws://127.0.0.1:{port}/room")
        through = seen_by(world, f"ws://127.0.0.1:{proxy.port}/ws/room")
        same(direct, through, but=("headers",))
        equal(through["headers"]["Authorization"], ["Bearer for-the-handshake"], "Authorization")
        equal(through["headers"]["Connection"], ["Upgrade"], "Connection")
        equal(through["headers"]["Upgrade"], ["websocket"], "Upgrade")

        def tunnels():
            found = [r for r in proxy.exchanges("ws") if r["status"] == 101]
            return found if len(found) >= 8 else None

        records = eventually(tunnels, "every tunnel has its line", 5)
        big = max(records, key=lambda record: record["bytes_in"])
        # Lengths of 4 MiB, binary and text, uncompressed.
        check(big["bytes_in"] > 8 << 20 and big["bytes_out"] > 8 << 20, f"bytes counted: {big}")
        check(all("error" not in record for record in records), "a tunnel ended with an error")
        with open(proxy.log_path("ws"), encoding="utf-8") as log:
            check('"event":"upgrade"' in log.read(), "no event of an upgrade in the log")


@case
def websocket_to_tls_upstream(world):
    port, server = websocket_server(world, world.path("server.pem"), world.path("server.key"))
    with server, Netproxy(world, {"ws": {
        "upstream": f"https://127.0.0.1:{port}", "tls": {"ca": world.ca},
    }}) as proxy:
        seen = seen_by(world, f"ws://127.0.0.1:{proxy.port}/ws/room")
        equal(seen["compression deflate, 4194304 bytes"][1], True, "4 MiB came back")
        equal(seen["closed by the server"], [4321, "as you wish"], "the server's close")
        equal(seen["refused"], [403, "not here\n"], "a refused handshake")


@case
def websocket_through_connect(world):
    port, server = websocket_server(world)
    with server, Netproxy(world, {"other": world.channel()},
                          connect=[f"127.0.0.1:{port}"]) as proxy:
        direct = seen_by(world, f"ws://127.0.0.1:{port}/room")
        through = seen_by(world, f"ws://127.0.0.1:{port}/room", proxy.url(""))
        # The tunnel is blind: the server cannot detect the proxy.
        same(direct, through)
        records = eventually(lambda: proxy.exchanges("netproxy"), "a line for CONNECT", 5)
        check(all(record["method"] == "CONNECT" for record in records), f"lines: {records}")


@case
def connect_with_curl(world):
    with Netproxy(world, {"other": world.channel()},
                  connect=[f"localhost:{world.https_port}"]) as proxy:
        def fetched(host):
            return subprocess.run(
                ["curl", "-sS", "--cacert", world.ca, "--proxy", proxy.url(""), "--max-time", "20",
                 "-w", "%{http_connect}", f"https://{host}:{world.https_port}/files/hello.txt"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=30, env=clean_environment())

        equal(fetched("localhost").stdout, b"hello from nginx\n200", "through a listed tunnel")
        refused = fetched("127.0.0.1")
        check(refused.returncode != 0 and refused.stdout.endswith(b"403"),
              f"an unlisted tunnel: {refused}")


def make_index(directory):
    """Creates a package index with one package, as plain files with a directory listing as the page."""
    folder = os.path.join(directory, "simple", "sample")
    os.makedirs(folder)
    wheel = os.path.join(folder, "sample-1.0-py3-none-any.whl")
    files = {
        "sample.py": os.urandom(200000).hex(),
        "sample-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n",
        "sample-1.0.dist-info/WHEEL":
            "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("sample-1.0.dist-info/RECORD",
                         "".join(f"{name},,\n" for name in files))
    return wheel


@contextmanager
def file_server(world, directory):
    port = free_port()
    with serving(world, [sys.executable, "-m", "http.server", "--bind", "127.0.0.1",
                         "--directory", directory, str(port)], port, "http-server"):
        yield port


@case
def pip_with_http_proxy(world):
    """pip downloads an index of Python's http.server through the proxy: absolute-form, HTTP/1.0."""
    directory = world.path(world.unique("index"))
    wheel = make_index(directory)
    with file_server(world, directory) as port, Netproxy(world, {
        "index": {"upstream": f"http://127.0.0.1:{port}"},
    }) as proxy:
        out = os.path.join(proxy.directory, "wheels")
        environment = clean_environment(HOME=proxy.directory, http_proxy=proxy.url(""))
        for name in [name for name in environment if name.startswith("PIP_")]:
            del environment[name]
        run([world.python, "-m", "pip", "--isolated", "download", "--quiet", "--no-cache-dir",
             "--no-deps", "--disable-pip-version-check", "--dest", out,
             "--index-url", f"http://127.0.0.1:{port}/simple", "sample==1.0"],
            seconds=90, env=environment)
        with open(wheel, "rb") as there, open(os.path.join(out, os.path.basename(wheel)),
                                              "rb") as here:
            equal(here.read(), there.read(), "the wheel")
        eventually(lambda: len(proxy.exchanges("index")) >= 2, "pip's requests in the log", 5)


def fetch(port, method, path, body=None, headers=None):
    """Sends one request over its own connection; returns status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        # With its own User-Agent; otherwise netproxy would add one.
        fields = {"User-Agent": "app", **(headers or {})}
        connection.request(method, path, body=body, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@case
def python_http_server_as_upstream(world):
    directory = world.path(world.unique("www"))
    os.makedirs(directory)
    with open(os.path.join(directory, "big.bin"), "wb") as file:
        file.write(os.urandom(3 << 20))
    with file_server(world, directory) as port, Netproxy(world, {
        "www": {"upstream": f"http://127.0.0.1:{port}", "headers": {"via": "on"}},
    }) as proxy:
        for method, path, headers in (
                ("GET", "/big.bin", {}), ("HEAD", "/big.bin", {}), ("GET", "/", {}),
                ("GET", "/none", {}), ("PUT", "/big.bin", {}),
                ("GET", "/big.bin", {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"})):
            direct = fetch(port, method, path, headers=headers)
            through = fetch(proxy.port, method, "/www" + path, headers=headers)
            equal(through[0], direct[0], f"{method} {path}: status")
            equal(through[2], direct[2], f"{method} {path}: content")
            for name in ("Content-Type", "Last-Modified", "Content-Length"):
                equal(through[1].get(name), direct[1].get(name), f"{method} {path}: {name}")
            check(through[1]["Via"].startswith("1.0 netproxy-"), "Via of an HTTP/1.0 upstream")


@case
def httpbin_as_upstream(world):
    """httpbin under gunicorn: codings, streams, ranges, statuses, content on every method."""
    port = free_port()
    with serving(world, [world.python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}",
                         "--threads", "8", "--keep-alive", "60", "--no-control-socket",
                         "httpbin:app"], port, "httpbin"), \
            Netproxy(world, {"bin": {"upstream": f"http://127.0.0.1:{port}"}}) as proxy:
        def both(method, path, **options):
            return (fetch(port, method, path, **options),
                    fetch(proxy.port, method, "/bin" + path, **options))

        for path in ("/bytes/100000?seed=7", "/range/5000", "/stream-bytes/200000?seed=3",
                     "/encoding/utf8", "/image/png", "/xml", "/links/3/1", "/status/418",
                     "/etag/abc", "/base64/aGVsbG8=", "/robots.txt", "/deny"):
            direct, through = both("GET", path)
            equal(through[0], direct[0], f"{path}: status")
            equal(hashlib.sha256(through[2]).hexdigest(), hashlib.sha256(direct[2]).hexdigest(),
                  f"{path}: content")
        _, through = both("GET", "/gzip", headers={"Accept-Encoding": "gzip"})
        equal(through[1]["Content-Encoding"], "gzip", "coding")
        check(json.loads(gzip.decompress(through[2]))["gzipped"], "gzip arrives as it was sent")
        _, through = both("GET", "/range/5000", headers={"Range": "bytes=100-199"})
        equal((through[0], through[1]["Content-Range"], len(through[2])),
              (206, "bytes 100-199/5000", 100), "a range")
        _, through = both("GET", "/etag/abc", headers={"If-None-Match": "abc"})
        equal((through[0], through[2]), (304, b""), "a conditional request")
        _, through = both("GET", "/redirect-to?url=http%3A%2F%2Felsewhere.example%2F")
        equal((through[0], through[1]["Location"]), (302, "http://elsewhere.example/"), "redirect")
        _, through = both("GET", "/stream/20")
        equal(len(through[2].splitlines()), 20, "streamed lines")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            body = os.urandom(300000).hex()
            answer = fetch(proxy.port, method, f"/bin/{method.lower()}", body=body,
                           headers={"Content-Type": "text/plain"})
            equal(json.loads(answer[2])["data"], body, f"{method}: content")
            chunked = fetch(proxy.port, method, f"/bin/{method.lower()}",
                            body=iter([b"one", b"two" * 50000]),
                            headers={"Content-Type": "text/plain"})
            equal(json.loads(chunked[2])["data"], "one" + "two" * 50000, f"{method}: chunks")
        seen = json.loads(fetch(proxy.port, "GET", "/bin/headers")[2])["headers"]
        check(not any(name.lower().startswith("x-forwarded") for name in seen), f"told: {seen}")


@case
def another_proxy_on_the_way(world):
    """A channel's TLS through the tunnel of another netproxy, and its plain HTTP in absolute-form."""
    with file_server(world, world.path("files")) as port, \
            Netproxy(world, {"other": world.channel(), "plain": {
                "upstream": f"http://127.0.0.1:{port}"}},
                connect=[f"127.0.0.1:{world.https_port}"]) as corporate, \
            Netproxy(world, {
                "secure": world.channel("/files", proxy=corporate.url("")),
                "plain": {"upstream": f"http://127.0.0.1:{port}", "proxy": corporate.url("")},
            }) as proxy:
        for channel, status in (("secure", 200), ("plain", 200)):
            answer = fetch(proxy.port, "GET", f"/{channel}/hello.txt")
            equal((answer[0], answer[2]), (status, b"hello from nginx\n"), channel)
        equal(len(corporate.exchange("plain", "hello.txt")["path"]), len("/hello.txt"), "the path")

        def tunnelled():
            return [r for r in corporate.exchanges("netproxy") if r["method"] == "CONNECT"]

        proxy.stop()
        eventually(tunnelled, "the tunnel's line")


@case
def pins_that_are_only_reported(world):
    pins = {"ca": world.ca, "pins": ["sha256/" + "A" * 43 + "="]}
    with Netproxy(world, {
        "strict": {"upstream": world.origin + "/files", "tls": pins, "retry": {"attempts": 0}},
        "lax": {"upstream": world.origin + "/files", "tls": {**pins, "pin_mode": "report"}},
    }) as proxy:
        equal(fetch(proxy.port, "GET", "/strict/hello.txt")[0], 502, "without the pinned key")
        equal(fetch(proxy.port, "GET", "/lax/hello.txt")[0], 200, "with a report only")

        def told():
            return [record for record in read_json_lines(proxy.log_path("lax"))
                    if "has a pinned key" in record.get("message", "")]

        eventually(told, "the missing pin is in the log", 5)
