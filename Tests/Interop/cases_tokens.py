"""The life of a token with a real authorization server: revoked, rotated, stampeded, dead."""

import hashlib
import json
import os

from harness import case, check, equal, eventually, free_port
from proxy import Netproxy
from traffic import curl, storm


def post_random(world, proxy, word, size):
    """POSTs random bytes through the channel; returns (response, SHA-256 of the sent bytes)."""
    path, digest = world.random_file(word + ".bin", size=size)
    answer = curl(proxy, "-H", "Expect:", "-H", "Content-Type: application/octet-stream",
                  "--data-binary", "@" + path, proxy.url(f"/orders/{word}"))
    return answer, digest


def expect_intact(answer, size, digest):
    equal(answer.statuses, [200], f"statuses the app saw ({answer})")
    body = json.loads(answer.body)
    equal(body["length"], size, "length that the API received")
    equal(body["sha256"], digest, "SHA-256 that the API received")


def first_request(world, proxy, client):
    """Sends the first request, so that the channel has a token."""
    answer = curl(proxy, proxy.url("/orders/" + world.unique("first")))
    equal(answer.status, 200, f"status of the first request ({answer})")


def revoked_then_replayed(world, client):
    size = 40 * 1024
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        first_request(world, proxy, client)
        before = world.auth.live_tokens(client)
        check(before, "no token was there to revoke")
        world.auth.revoke(client)
        mark, word = world.auth.mark(), world.unique("replay")
        answer, digest = post_random(world, proxy, word, size)
        expect_intact(answer, size, digest)
        requests = world.auth.token_requests(client, mark)
        equal([r["status"] for r in requests], [200], "token requests after the revocation")
        seen = world.auth.api_requests(word)
        equal([r["status"] for r in seen], [401, 200], "attempts that the API saw")
        equal({(r["body_length"], r["body_sha256"]) for r in seen}, {(size, digest)},
              "body of both attempts")
        tails = [r["token_tail"] for r in seen]
        equal(tails, [before[-1][-8:], requests[0]["access_token"][-8:]], "tokens of the attempts")
        line = proxy.exchange("orders", word)
        equal(line["status"], 200, "status in the log")
        equal(line["attempts"], 2, "attempts in the log")
        equal(line["retries"], ["unauthorized"], "retries in the log")
        equal(line["bytes_in"], size, "bytes_in in the log")
        equal(line["auth"]["refreshed"], True, "auth.refreshed in the log")
        # The new token serves the next request without another refresh.
        answer, digest = post_random(world, proxy, world.unique("after"), size)
        expect_intact(answer, size, digest)
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests in the end")


@case
def revoked_token_refreshes_once_and_replays(world):
    client = world.auth.register()
    revoked_then_replayed(world, client)
    record = world.auth.token_requests(client)[0]
    equal(record["grant"], "client_credentials", "grant type")
    equal(record["client_auth"], "basic", "client authentication")
    equal(sorted(record["scope"].split()), ["read", "write"], "scope")


@case
def revoked_token_of_a_refresh_grant_replays(world):
    client = world.auth.register("refresh_token")
    revoked_then_replayed(world, client)


@case
def rotated_refresh_token_is_used_next_and_survives_a_restart(world):
    client = world.auth.register("refresh_token")
    mark, first = world.auth.mark(), client.refresh_token
    proxy = Netproxy(world, {"orders": world.oauth_channel(client)})
    for _ in range(2):
        with proxy:
            for _ in range(2):
                first_request(world, proxy, client)
                world.auth.revoke(client)
                first_request(world, proxy, client)
    requests = world.auth.token_requests(client, mark)
    equal({r["status"] for r in requests}, {200}, "status of every refresh")
    chain = [first] + [r["refresh_token"] for r in requests]
    equal([r["presented_refresh_token"][-8:] for r in requests],
          [token[-8:] for token in chain[:-1]], "each refresh presents the token of the one before")
    # One request for the first token and one for each of four revocations; after the restart, the stored
    # token can be proven again.
    check(5 <= len(requests) <= 6, f"5 or 6 refreshes expected, {len(requests)} seen")
    for folder, _, names in os.walk(os.path.join(proxy.directory, "state")):
        for name in names:
            mode = os.stat(os.path.join(folder, name)).st_mode & 0o077
            equal(mode, 0, f"others' permissions on state/{name}")


@case
def a_large_body_is_not_replayed_but_the_next_works(world):
    client, size = world.auth.register(), 300 * 1024
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        first_request(world, proxy, client)
        world.auth.revoke(client)
        mark, word = world.auth.mark(), world.unique("large")
        answer, digest = post_random(world, proxy, word, size)
        if answer.status == 401:
            line = proxy.exchange("orders", word)
            check(line["auth"].get("not_replayed"), f"auth.not_replayed is missing: {line}")
            check("invalid_token" in answer.fields.get("www-authenticate", ""),
                  f"not the upstream's own 401: {answer}")
        else:
            # With `Expect: 100-continue` upstream, the client can still have the body.
            expect_intact(answer, size, digest)
        answer, digest = post_random(world, proxy, world.unique("next"), size)
        expect_intact(answer, size, digest)
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests")


def storm_on_a_revoked_token(world, client):
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        first_request(world, proxy, client)
        world.auth.revoke(client)
        mark, word = world.auth.mark(), world.unique("storm")
        seen = storm(proxy.port, f"/orders/{word}", total=1000, in_flight=64)
        equal(seen, {200: 1000}, "statuses of the storm")
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests")
        refused = [r for r in world.auth.api_requests(word) if r["status"] == 401]
        check(refused, "no attempt carried the revoked token: the case proved nothing")
        eventually(lambda: len(proxy.exchanges("orders")) == 1001,
                   "one log line per exchange of the storm", 5)


@case
def storm_of_401s_costs_one_token_request(world):
    storm_on_a_revoked_token(world, world.auth.register())


@case
def storm_of_401s_with_rotation_costs_one_token_request(world):
    storm_on_a_revoked_token(world, world.auth.register("refresh_token"))


@case
def an_incurable_401_reaches_the_app(world):
    """An upstream that refuses every token: its own response is returned, without a refresh loop."""
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        answer = curl(proxy, proxy.url("/orders/always-401"))
        equal(answer.statuses, [401], f"statuses ({answer})")
        equal(answer.body, b"no token is good enough here\n", "body")
        equal(answer.fields.get("x-origin-mark"), "always-401", "the upstream's own field")
        check("invalid_token" in answer.fields.get("www-authenticate", ""), "WWW-Authenticate")
        check(len(world.auth.token_requests(client)) <= 2, "more than one refresh for one request")


@case
def a_dead_grant_asks_for_a_person(world):
    """The grant is revoked at the server: first the upstream's 401, then reauthorization_required."""
    client = world.auth.register("refresh_token")
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        first_request(world, proxy, client)
        world.auth.end_grant(client)
        mark = world.auth.mark()
        answer = curl(proxy, proxy.url("/orders/" + world.unique("dead")))
        equal(answer.status, 401, f"status ({answer})")
        equal(json.loads(answer.body), {"detail": "the access token is not valid"}, "body")
        answer = curl(proxy, proxy.url("/orders/" + world.unique("dead")))
        equal(answer.status, 503, f"status of the next ({answer})")
        problem = json.loads(answer.body)
        equal(problem["type"], "urn:netproxy:error:reauthorization_required", "problem type")
        for _ in range(3):
            curl(proxy, proxy.url("/orders/" + world.unique("dead")))
        refused = world.auth.token_requests(client, mark)
        equal([r["error"] for r in refused], ["invalid_grant"], "token requests for a dead grant")


@case
def an_unreachable_token_endpoint_is_503(world):
    client = world.auth.register()
    channel = world.oauth_channel(client)
    channel["auth"]["oauth"]["token_url"] = f"http://127.0.0.1:{free_port()}/token"
    with Netproxy(world, {"orders": channel}) as proxy:
        for _ in range(2):
            answer = curl(proxy, proxy.url("/orders/" + world.unique("no-token")))
            equal(answer.status, 503, f"status ({answer})")
            problem = json.loads(answer.body)
            equal(problem["type"], "urn:netproxy:error:credential_unavailable", "problem type")
            check(answer.fields.get("retry-after", "").isdigit(), f"Retry-After: {answer.fields}")
            check("error=credential_unavailable" in answer.fields.get("proxy-status", ""),
                  f"Proxy-Status: {answer.fields}")
        check(proxy.child.running(), "the daemon ended")


@case
def the_token_endpoint_over_tls_and_post_credentials(world):
    client = world.auth.register()
    channel = world.oauth_channel(client)
    channel["auth"]["oauth"] |= {"token_url": world.origin + "/o/token/", "client_auth": "post"}
    proxy = Netproxy(world, {"orders": channel})
    # This case does not test whether `tls.ca` also applies to the token endpoint.
    proxy.variables["SSL_CERT_FILE"] = world.ca
    with proxy:
        first_request(world, proxy, client)
        record = world.auth.token_requests(client)[0]
        equal(record["client_auth"], "post", "client authentication")
        check(world.arrived("/o/token/")[-1]["tls"], "the token request did not use TLS")


@case
def an_upload_body_hash_is_the_same_over_many_sizes(world):
    """Sizes around the replay limit and the usual buffer sizes, with a valid token."""
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        for size in (0, 1, 4095, 4096, 4097, 16384, 65535, 65536, 65537, 131072):
            content = os.urandom(size)
            path = os.path.join(proxy.directory, "content")
            with open(path, "wb") as file:
                file.write(content)
            for method in ("POST", "PUT"):
                answer = curl(proxy, "-H", "Expect:", "-X", method, "--data-binary", "@" + path,
                              proxy.url("/orders/" + world.unique("size")))
                expect_intact(answer, size, hashlib.sha256(content).hexdigest())
