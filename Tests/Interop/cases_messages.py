"""HTTP with curl: uploads, downloads, HEAD, ranges, conditions, codings, streams."""

import gzip
import http.client
import os
import time

from harness import case, check, equal, eventually
from proxy import Netproxy
from traffic import curl
from world import sha256_of

UPLOAD = 20 << 20
DOWNLOAD = 50 << 20


def static(world, path="/files", **keys):
    return Netproxy(world, {"static": world.channel(path, **keys)})


def uploaded(world, name):
    """Returns the size and SHA-256 of the file that nginx stored."""
    path = world.path("dav", name)
    check(os.path.exists(path), f"nginx stored no {name}")
    return os.path.getsize(path), sha256_of(path)


@case
def upload_with_content_length(world):
    source, digest = world.random_file("upload.bin", size=UPLOAD)
    with static(world, "/dav") as proxy:
        name = world.unique("length")
        answer = curl(proxy, "-T", source, proxy.url("/static/" + name))
        equal(answer.status, 201, f"status ({answer})")
        equal(uploaded(world, name), (UPLOAD, digest), "what nginx stored")
        seen = world.arrived(name)[0]
        equal(seen["content_length"], str(UPLOAD), "Content-Length that arrived")
        equal(proxy.exchange("static", name)["bytes_in"], UPLOAD, "bytes_in in the log")


@case
def upload_chunked(world):
    source, digest = world.random_file("upload.bin", size=UPLOAD)
    with static(world, "/dav") as proxy:
        name = world.unique("chunked")
        answer = curl(proxy, "-H", "Transfer-Encoding: chunked", "-T", source,
                      proxy.url("/static/" + name))
        equal(answer.status, 201, f"status ({answer})")
        equal(uploaded(world, name), (UPLOAD, digest), "what nginx stored")
        seen = world.arrived(name)[0]
        equal((seen["transfer_encoding"], seen["content_length"]), ("chunked", ""),
              "framing that arrived")
        equal(proxy.exchange("static", name)["bytes_in"], UPLOAD, "bytes_in in the log")


@case
def download_of_50_mib(world):
    source, digest = world.random_file("files", "big.bin", size=DOWNLOAD)
    with static(world) as proxy:
        target = os.path.join(proxy.directory, "big.bin")
        word = world.unique("big")
        answer = curl(proxy, "-o", target, proxy.url("/static/big.bin?" + word))
        equal(answer.status, 200, f"status ({answer})")
        equal(answer.fields.get("content-length"), str(DOWNLOAD), "Content-Length")
        equal(sha256_of(target), digest, "SHA-256 of the download")
        equal(proxy.exchange("static", word)["bytes_out"], DOWNLOAD, "bytes_out in the log")


@case
def a_slow_reader_gets_everything(world):
    """Backpressure: a reader reads at 20 MiB/s, and the daemon does not keep the file in memory."""
    source, digest = world.random_file("files", "big.bin", size=DOWNLOAD)
    with static(world) as proxy:
        curl(proxy, proxy.url("/static/hello.txt"))
        target = os.path.join(proxy.directory, "slow.bin")
        before = resident(proxy)
        answer = curl(proxy, "--limit-rate", "20M", "-o", target, proxy.url("/static/big.bin"))
        equal(answer.status, 200, f"status ({answer})")
        equal(sha256_of(target), digest, "SHA-256 of the download")
        grown = peak(proxy) - before
        check(grown < 24 << 20, f"memory grew by {grown >> 20} MiB for one slow download")


def memory(proxy, field):
    with open(f"/proc/{proxy.child.pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def resident(proxy):
    return memory(proxy, "VmRSS:")


def peak(proxy):
    # Some kernels do not report the peak.
    return memory(proxy, "VmHWM:") or resident(proxy)


@case
def head_and_reuse(world):
    """A HEAD's Content-Length frames no body, neither downstream nor on the pooled upstream connection."""
    with static(world) as proxy:
        answer = curl(proxy, "-I", proxy.url("/static/hello.txt"))
        equal((answer.status, answer.fields.get("content-length")), (200, "17"), "curl -I")
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        for method, length in (("HEAD", 0), ("GET", 17), ("HEAD", 0), ("HEAD", 0), ("GET", 17)):
            connection.request(method, "/static/hello.txt")
            response = connection.getresponse()
            equal((response.status, response.headers["content-length"]), (200, "17"), method)
            equal(len(response.read()), length, f"body of {method}")
        connection.close()


@case
def ranges_and_resume(world):
    source, digest = world.random_file("files", "big.bin", size=DOWNLOAD)
    with static(world) as proxy:
        answer = curl(proxy, "-r", "6-9", proxy.url("/static/hello.txt"))
        equal((answer.status, answer.body), (206, b"from"), f"a range ({answer})")
        equal(answer.fields.get("content-range"), "bytes 6-9/17", "Content-Range")
        target = os.path.join(proxy.directory, "partial.bin")
        with open(source, "rb") as whole, open(target, "wb") as part:
            part.write(whole.read(30 << 20))
        word = world.unique("resume")
        answer = curl(proxy, "-C", "-", "-o", target, proxy.url("/static/big.bin?" + word))
        equal(answer.status, 206, f"status of the resume ({answer})")
        equal(sha256_of(target), digest, "SHA-256 after the resume")
        equal(world.arrived(word)[0]["range"], f"bytes={30 << 20}-", "Range that arrived")
        answer = curl(proxy, "-r", "99-", proxy.url("/static/hello.txt"))
        equal(answer.status, 416, f"an impossible range ({answer})")


@case
def not_modified_and_reuse(world):
    with static(world) as proxy:
        etag = curl(proxy, proxy.url("/static/hello.txt")).fields["etag"]
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        for fields, wanted in (({"If-None-Match": etag}, (304, b"")),
                               ({}, (200, b"hello from nginx\n")),
                               ({"If-None-Match": '"other"'}, (200, b"hello from nginx\n"))):
            connection.request("GET", "/static/hello.txt", headers=fields)
            response = connection.getresponse()
            equal((response.status, response.read()), wanted, f"answer to {fields}")
            equal(response.headers["etag"], etag, "ETag")
        connection.close()


@case
def gzip_passes_untouched(world):
    with static(world) as proxy:
        with open(world.path("files", "words.txt"), "rb") as file:
            words = file.read()
        answer = curl(proxy, "-H", "Accept-Encoding: gzip", proxy.url("/static/words.txt"))
        equal(answer.fields.get("content-encoding"), "gzip", "Content-Encoding")
        check(len(answer.body) < len(words) // 10, "the body is not compressed")
        equal(gzip.decompress(answer.body), words, "decompressed body")
        answer = curl(proxy, "--compressed", proxy.url("/static/words.txt"))
        equal(answer.body, words, "curl --compressed")
        word = world.unique("identity")
        answer = curl(proxy, proxy.url("/static/words.txt?" + word))
        equal(answer.body, words, "without Accept-Encoding")
        equal(world.arrived(word)[0]["accept_encoding"], "", "Accept-Encoding that arrived")


@case
def expect_100_continue(world):
    source, digest = world.random_file("expect.bin", size=40 * 1024)
    with static(world, "/dav") as proxy:
        name = world.unique("expect")
        answer = curl(proxy, "-v", "-H", "Expect: 100-continue", "--expect100-timeout", "15", "-T",
                      source, proxy.url("/static/" + name))
        equal(answer.statuses, [100, 201], f"interim and final status ({answer})")
        equal(uploaded(world, name), (40 * 1024, digest), "what nginx stored")
        check(answer.seconds < 14, f"curl waited {answer.seconds:.2f} s for 100 Continue")


@case
def redirects_and_odd_statuses_pass_through(world):
    with static(world, "") as proxy:
        answer = curl(proxy, proxy.url("/static/redirect"))
        equal(answer.status, 302, f"status ({answer})")
        equal(answer.fields.get("location"), "https://elsewhere.invalid/landing", "Location")
        answer = curl(proxy, proxy.url("/static/teapot"))
        equal((answer.status, answer.body), (418, b"short and stout\n"), "418")


@case
def http_1_0_clients_get_plain_bodies(world):
    with static(world) as proxy:
        answer = curl(proxy, "-0", proxy.url("/static/hello.txt"))
        equal((answer.status, answer.body), (200, b"hello from nginx\n"), "HTTP/1.0")
        answer = curl(proxy, "-0", "-H", "Accept-Encoding: gzip", proxy.url("/static/words.txt"))
        check("transfer-encoding" not in answer.fields, "chunked to an HTTP/1.0 client")
        check(len(gzip.decompress(answer.body)) == 68000, "body to an HTTP/1.0 client")


@case
def an_event_stream_arrives_as_it_was_sent(world):
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        connection.request("GET", "/orders/drip?lines=4&gap=0.6")
        response = connection.getresponse()
        equal(response.status, 200, "status")
        arrivals = []
        while line := response.readline():
            if line.strip():
                arrivals.append((time.monotonic(), line.strip()))
        equal([line for _, line in arrivals], [b"data: %d" % n for n in range(4)], "events")
        spread = arrivals[-1][0] - arrivals[0][0]
        check(spread > 0.9, f"the events came within {spread:.2f} s: something buffered them")
        connection.close()


@case
def pipelined_requests_are_answered_in_order(world):
    from traffic import raw

    with static(world) as proxy:
        request = b"".join(
            b"GET /static/hello.txt?%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
            % (number, b"Connection: close\r\n" if number == 9 else b"") for number in range(10))
        received, closed = raw(proxy.port, request)
        check(closed, "the connection stayed open after Connection: close")
        equal(received.count(b"HTTP/1.1 200 "), 10, "responses to ten pipelined requests")
        equal(received.count(b"hello from nginx\n"), 10, "bodies")


@case
def parallel_curl(world):
    """curl's own parallel transfers."""
    with static(world) as proxy:
        urls = [proxy.url(f"/static/words.txt?{number}") for number in range(200)]
        arguments = []
        for number, url in enumerate(urls):
            arguments += ["-o", os.path.join(proxy.directory, f"words-{number}"), url]
        answer = curl(proxy, "-Z", "--parallel-max", "32", "--fail-early", "-f", *arguments)
        equal(answer.exit_code, 0, f"curl's exit code ({answer.notes[-300:]})")
        for number in range(200):
            path = os.path.join(proxy.directory, f"words-{number}")
            equal(os.path.getsize(path), 68000, f"size of download {number}")


@case
def upstream_connections_are_reused(world):
    with static(world) as proxy:
        word = world.unique("reuse")
        for number in range(5):
            answer = curl(proxy, proxy.url(f"/static/hello.txt?{word}-{number}"))
            equal(answer.status, 200, f"status ({answer})")
        seen = world.arrived(word, 5)
        # The daemon can have one pool per event loop.
        check(len({r["connection"] for r in seen}) <= 4, "no upstream connection was reused")
        eventually(lambda: any(r.get("reused") is True for r in proxy.exchanges("static")),
                   "a log line says `reused`")


@case
def request_log_lines(world):
    """One JSON object per line, with the documented keys and value types."""
    client, word = world.auth.register(), world.unique("log")
    channel = world.oauth_channel(
        client, log={"subsystem": "com.example.orders", "category": "network", "query": "keys"})
    kinds = {
        "time": str, "level": str, "subsystem": str, "category": str, "channel": str, "event": str,
        "request_id": str, "client": str, "method": str, "scheme": str, "host": str, "path": str,
        "query": str, "protocol": str, "status": int, "upstream_status": int, "bytes_in": int,
        "bytes_out": int, "duration_ms": (int, float), "timings": dict, "upstream": str,
        "reused": bool, "attempts": int, "auth": dict,
    }
    with Netproxy(world, {"orders": channel}) as proxy:
        paths = [f"/orders/{word}-{number}?account=visible-value" for number in range(3)]
        for path in paths:
            curl(proxy, "-d", "12345", proxy.url(path))
        curl(proxy, "-d", "12345", proxy.url(f"/orders/always-401?{word}"))
        line = proxy.exchange("orders", f"{word}-2")
        for key, kind in kinds.items():
            check(key in line, f"the log line has no {key}: {line}")
            check(isinstance(line[key], kind) and (kind is not int or line[key] is not True),
                  f"{key} is a {type(line[key]).__name__}")
        for key, value in {
            "level": "info", "subsystem": "com.example.orders", "category": "network",
            "channel": "orders", "event": "exchange", "method": "POST", "scheme": "https",
            "status": 200, "upstream_status": 200, "bytes_in": 5, "attempts": 1,
            "path": f"/api/{word}-2", "upstream": f"127.0.0.1:{world.https_port}",
        }.items():
            equal(line[key], value, key)
        check(line["host"].startswith("127.0.0.1"), f"host: {line['host']}")
        check("account" in line["query"] and "visible-value" not in line["query"],
              f"query with `query: keys`: {line['query']!r}")
        check(line["time"].endswith("Z") and "." in line["time"] and
              len(line["time"].split(".")[1]) == 7, f"time without microseconds: {line['time']}")
        check(line["duration_ms"] > 0, "duration_ms is not positive")
        check({"kind", "generation"} <= set(line["auth"]), f"auth: {line['auth']}")
        check(set(line["timings"]) <= {"queue_ms", "dns_ms", "connect_ms", "tls_ms",
                                       "first_byte_ms"}, f"timings: {line['timings']}")
        eventually(lambda: len(proxy.exchanges("orders")) == 4, "four lines for four exchanges", 5)
        equal(os.stat(proxy.log_path("orders")).st_mode & 0o777, 0o640, "mode of the log file")
