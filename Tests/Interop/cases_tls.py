"""TLS requirements for an upstream: names, versions, a proper end of the connection."""

import socket
import ssl
import threading

from harness import case, check, equal
from proxy import Netproxy
from traffic import curl, problem_of
from world import run


class TLSAnswers:
    """Sends one response for each connection over TLS, and closes it."""

    def __init__(self, certificate, key, answer=b"HTTP/1.1 204 No Content\r\n\r\n",
                 latest=ssl.TLSVersion.TLSv1_3, says_goodbye=True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = latest
        context.load_cert_chain(certificate, key)
        self.answer, self.says_goodbye, self.arrived = answer, says_goodbye, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(context,), daemon=True).start()

    def serve(self, context):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.give, args=(context, peer), daemon=True).start()

    def give(self, context, peer):
        try:
            with context.wrap_socket(peer, server_side=True) as end:
                self.arrived += end.recv(65536) != b""
                end.sendall(self.answer)
                if self.says_goodbye:
                    end.unwrap()
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def signed(world, subject, names):
    """Returns certificate and key of a leaf with these alternative names, signed by the world's CA."""
    name = world.path(world.unique("leaf"))
    run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", subject, "-keyout", name + ".key", "-out", name + ".csr"])
    with open(name + ".ext", "w", encoding="ascii") as file:
        file.write("basicConstraints=critical,CA:FALSE\n")
        if names:
            file.write(f"subjectAltName={names}\n")
    run(["openssl", "x509", "-req", "-in", name + ".csr", "-CA", world.ca, "-CAkey",
         world.path("ca.key"), "-CAcreateserial", "-days", "2", "-extfile", name + ".ext",
         "-out", name + ".pem"])
    return name + ".pem", name + ".key"


def channel(world, *servers, host="localhost", **keys):
    """Returns a channel to the servers, in order, without retries."""
    places = [f"https://{host}:{server.port}" for server in servers]
    return {"upstream": places if len(places) > 1 else places[0], "retry": {"attempts": 0},
            "tls": {"ca": world.ca, **keys}}


def own(world):
    """Returns the world's certificate for localhost, and its key."""
    return world.path("server.pem"), world.path("server.key")


@case
def a_certificate_is_for_the_names_it_spells(world):
    """RFC 9110 section 4.3.4: only subjectAltName counts; a wildcard replaces a whole label."""
    host = "one.api.localhost"
    cases = {
        "alternative": ("/CN=other", f"DNS:{host}", True),
        "wildcard": ("/CN=other", "DNS:*.api.localhost", True),
        "common": (f"/CN={host}", "", False),
        "partial": ("/CN=other", "DNS:o*.api.localhost", False),
        "above": ("/CN=other", "DNS:api.localhost,DNS:*.localhost", False),
    }
    servers = {kind: TLSAnswers(*signed(world, subject, names))
               for kind, (subject, names, _) in cases.items()}
    channels = {kind: channel(world, server, host=host) for kind, server in servers.items()}
    try:
        with Netproxy(world, channels) as proxy:
            for kind, (_, names, is_good) in cases.items():
                answer = curl(proxy, proxy.url(f"/{kind}/"))
                if is_good:
                    equal(answer.status, 204, names)
                    continue
                equal(problem_of(answer)["type"], "urn:netproxy:error:tls_certificate_error",
                      names or "a name in CN alone")
                equal(servers[kind].arrived, 0, "requests that went to a host that is not proven")
    finally:
        for server in servers.values():
            server.listener.close()


@case
def the_oldest_version_is_the_channels(world):
    """tls.minimum: a server that supports at most 1.2 is refused if 1.3 is required."""
    with TLSAnswers(*own(world), latest=ssl.TLSVersion.TLSv1_2) as server, \
            Netproxy(world, {"usual": channel(world, server),
                             "strict": channel(world, server, minimum="1.3")}) as proxy:
        equal(curl(proxy, proxy.url("/usual/")).status, 204, "TLS 1.2 where nothing is said")
        problem = problem_of(curl(proxy, proxy.url("/strict/")))
        equal(problem["type"], "urn:netproxy:error:tls_protocol_error", "TLS 1.2 with minimum 1.3")
        equal(server.arrived, 1, "requests that arrived")


@case
def an_end_without_goodbye_is_no_end(world):
    """Content that ends with the connection is complete only after a close_notify."""
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthe beginning"
    with TLSAnswers(*own(world), answer=answer) as whole, \
            TLSAnswers(*own(world), answer=answer, says_goodbye=False) as cut, \
            Netproxy(world, {"whole": channel(world, whole), "cut": channel(world, cut)}) as proxy:
        got = curl(proxy, proxy.url("/whole/end"))
        equal((got.exit_code, got.body), (0, b"the beginning"), "with a close_notify")
        got = curl(proxy, proxy.url("/cut/end"))
        check(got.exit_code != 0, f"an app took cut content for whole: {got}")
        line = proxy.exchange("cut", "/end")
        equal((line["error"], line["aborted_by"]), ("http_response_incomplete", "upstream"),
              "the log of what was cut")


@case
def a_handshake_that_fails_leads_on_and_a_bad_certificate_does_not(world):
    """Failover is for outages; an untrusted certificate must be reported to a person."""
    stranger = signed(world, "/CN=other", "DNS:other.example")
    with TLSAnswers(*own(world), latest=ssl.TLSVersion.TLSv1_2) as old, \
            TLSAnswers(*stranger) as distrusted, TLSAnswers(*own(world)) as good, \
            Netproxy(world, {"outage": channel(world, old, good, minimum="1.3"),
                             "doubt": channel(world, distrusted, good)}) as proxy:
        equal(curl(proxy, proxy.url("/outage/")).status, 204, "the answer of the second upstream")
        line = proxy.exchange("outage", "/")
        equal((line["attempts"], line["retries"]), (2, ["tls_protocol_error"]), "its log")
        problem = problem_of(curl(proxy, proxy.url("/doubt/")))
        equal(problem["type"], "urn:netproxy:error:tls_certificate_error", "a stranger")
        equal(good.arrived, 1, "requests that the second upstream got")
