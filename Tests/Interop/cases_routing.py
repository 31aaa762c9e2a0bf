"""The channel of each request, and the request that arrives at nginx."""

import json

from harness import case, check, equal
from proxy import Netproxy
from traffic import curl

HEADERS = {
    "default": {"User-Agent": "orders-app/1.2", "Accept-Language": "en"},
    "set": {"X-Client": "netproxy"},
    "remove": ["X-Debug"],
}


def expect_arrival(world, word, token):
    """Checks that nginx received the default headers and the valid token, over TLS, and no hop-by-hop
    fields."""
    seen = world.arrived(word)[0]
    equal(seen["status"], 200, "status in nginx's log")
    equal(seen["user_agent"], "orders-app/1.2", "User-Agent that arrived")
    equal(seen["accept_language"], "en", "Accept-Language that arrived")
    equal(seen["x_client"], "netproxy", "X-Client that arrived")
    equal(seen["x_debug"], "", "X-Debug that arrived")
    equal(seen["authorization_scheme"], "Bearer", "Authorization scheme that arrived")
    equal(seen["authorization_tail"], token[-8:], "end of the token that arrived")
    equal(seen["host"], f"127.0.0.1:{world.https_port}", "Host that arrived")
    equal(seen["proxy_connection"], "", "Proxy-Connection that arrived")
    check(seen["tls"].startswith("TLSv1."), f"not over TLS: {seen['tls']!r}")
    check(seen["request_id"], "no X-Request-Id arrived")
    equal(seen["via"], "", "Via that arrived")
    return seen


def routed(world, proxy, client, word, *arguments, proxy_variable=None):
    """Sends one GET by curl without a User-Agent, and checks nginx's log."""
    answer = curl(proxy, "-H", "User-Agent:", "-H", "X-Debug: 1", "-H", "X-Client: app",
                  *arguments, proxy_variable=proxy_variable)
    equal(answer.status, 200, f"status ({answer})")
    token = world.auth.live_tokens(client)[0]
    seen = expect_arrival(world, word, token)
    body = json.loads(answer.body)
    equal(body["client"], client.name, "client that the API recognised")
    equal(seen["uri"], f"/api/{word}?x=1&y=%20", "URI that arrived")
    line = proxy.exchange("orders", word)
    equal(line["request_id"], seen["request_id"], "request_id in the log and at nginx")


@case
def path_prefix_carries_headers_and_token(world):
    client, word = world.auth.register(), world.unique("path")
    with Netproxy(world, {"orders": world.oauth_channel(client, headers=HEADERS)}) as proxy:
        routed(world, proxy, client, word, proxy.url(f"/orders/{word}?x=1&y=%20"))
        equal(len(world.auth.token_requests(client)), 1, "token requests")


@case
def host_routing_carries_headers_and_token(world):
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client, headers=HEADERS)}) as proxy:
        name, word = f"orders.localhost:{proxy.port}", world.unique("host")
        routed(world, proxy, client, word, "-H", f"Host: {name}", proxy.url(f"/{word}?x=1&y=%20"))
        word = world.unique("resolve")
        routed(world, proxy, client, word, "--resolve", name + ":127.0.0.1",
               f"http://{name}/{word}?x=1&y=%20")


@case
def absolute_form_carries_headers_and_token(world):
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client, headers=HEADERS)}) as proxy:
        word = world.unique("absolute")
        routed(world, proxy, client, word,
               f"http://127.0.0.1:{world.https_port}/api/{word}?x=1&y=%20",
               proxy_variable=proxy.url(""))
        word = world.unique("channel-host")
        routed(world, proxy, client, word, f"http://orders.localhost/{word}?x=1&y=%20",
               proxy_variable=proxy.url(""))


@case
def a_dedicated_listener_serves_one_channel(world):
    from harness import free_port

    client, port, word = world.auth.register(), free_port(), world.unique("dedicated")
    channel = world.oauth_channel(client, headers=HEADERS,
                                  match={"listen": f"127.0.0.1:{port}"})
    with Netproxy(world, {"orders": channel}) as proxy:
        routed(world, proxy, client, word, f"http://127.0.0.1:{port}/{word}?x=1&y=%20")


@case
def own_fields_of_the_app_are_kept(world):
    client, word = world.auth.register(), world.unique("own")
    with Netproxy(world, {"orders": world.oauth_channel(client, headers=HEADERS)}) as proxy:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        answer = curl(proxy, "-A", "my-app/3", "-H", "Accept-Language: fr", "-H",
                      "X-Request-Id: mine-1", "-H", f"traceparent: {trace}", "-H",
                      "Authorization: Bearer the-apps-own", proxy.url(f"/orders/{word}"))
        equal(answer.status, 200, f"status ({answer})")
        seen = world.arrived(word)[0]
        equal(seen["user_agent"], "my-app/3", "User-Agent that arrived")
        equal(seen["accept_language"], "fr", "Accept-Language that arrived")
        equal(seen["request_id"], "mine-1", "X-Request-Id that arrived")
        token = world.auth.live_tokens(client)[0]
        equal(seen["authorization_tail"], token[-8:], "the app's credential was not replaced")
        line = proxy.exchange("orders", word)
        equal(line["client_request_id"], "mine-1", "the app's id in the log")
        check(line["auth"].get("overrode_client"), f"auth.overrode_client is missing: {line}")
        equal(line["trace_id"], trace.split("-")[1], "trace_id in the log")


@case
def strangers_are_refused(world):
    """Foreign Host, web pages, unknown paths and authorities, and CONNECT are refused."""
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        word = world.unique("refused")
        wanted = [
            (421, ["-H", "Host: rebound.example", proxy.url(f"/orders/{word}")]),
            (403, ["-H", "Origin: https://page.example", proxy.url(f"/orders/{word}")]),
            (403, ["-H", "Sec-Fetch-Site: cross-site", proxy.url(f"/orders/{word}")]),
            (404, [proxy.url(f"/nothing/{word}")]),
            (403, ["-x", proxy.url(""), f"http://elsewhere.example/{word}"]),
            (400, ["--path-as-is", proxy.url(f"/orders/../api/{word}")]),
            (400, ["--path-as-is", proxy.url(f"/orders/%2e%2e/api/{word}")]),
        ]
        for status, arguments in wanted:
            answer = curl(proxy, *arguments)
            what = " ".join(arguments)
            equal(answer.status, status, f"status for {what} ({answer})")
            equal(answer.fields.get("content-type", "").split(";")[0],
                  "application/problem+json", f"content type for {what}")
            problem = json.loads(answer.body)
            equal(problem["status"], status, f"status in the problem for {what}")
            check(problem["type"].startswith("urn:netproxy:error:"), f"type: {problem}")
        answer = curl(proxy, "-x", proxy.url(""), f"https://127.0.0.1:{world.https_port}/{word}")
        equal(answer.status, 403, f"CONNECT status ({answer})")
        with open(world.access_log, encoding="utf-8") as log:
            check(word not in log.read(), "a refused request reached nginx")


@case
def a_dual_stack_name_falls_back(world):
    """`localhost` can resolve to ::1 first, on which nginx does not listen."""
    channel = {"upstream": f"https://localhost:{world.https_port}/files", "tls": {"ca": world.ca}}
    with Netproxy(world, {"orders": channel}) as proxy:
        answer = curl(proxy, proxy.url("/orders/hello.txt?" + (word := world.unique("name"))))
        equal(answer.status, 200, f"status ({answer})")
        equal(answer.body, b"hello from nginx\n", "body")
        seen = world.arrived(word)[0]
        equal(seen["host"], f"localhost:{world.https_port}", "Host that arrived")
        equal(seen["sni"], "localhost", "server name in the TLS handshake")
