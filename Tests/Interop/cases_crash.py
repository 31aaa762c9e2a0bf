"""SIGKILL at every step of a refresh with a rotating refresh token, then a restart from the remaining state.

The steps of a refresh: the intent is made durable, the request is sent, the server rotates, the response
arrives, the new tokens are made durable, the client gets its response.
"""

import json
import os
import threading

from endpoint import REFRESH, Endpoint, expect_no_reuse
from fleet import Mortal
from harness import case, check, equal, eventually
from traffic import curl
from world import read_json_lines


def get(daemon, path="/orders/1"):
    return curl(daemon, daemon.url(path), seconds=40)


def expect_ok(daemon):
    answer = get(daemon)
    equal(answer.status, 200, f"status ({answer})")


class Refreshing:
    """Runs `netproxy token --refresh` in the background; it ends with the daemon."""

    def __init__(self, daemon):
        self.thread = threading.Thread(
            target=daemon.command, args=("token", "orders", "--refresh"), kwargs={"seconds": 60})
        self.thread.start()

    def end(self):
        self.thread.join(60)


def started(world, endpoint, is_shared=False):
    """Starts a daemon that has its first token."""
    daemon = Mortal(world, endpoint, is_shared=is_shared)
    daemon.start()
    expect_ok(daemon)
    equal(endpoint.outcomes(), ["rotated"], "token requests of the first start")
    return daemon


def is_settled(endpoint, count):
    """Whether the server has finished the given number of token requests."""
    outcomes = endpoint.outcomes()
    return len(outcomes) >= count and "arrived" not in outcomes


def expect_alive(daemon, endpoint, outcomes):
    """Restarts the daemon and checks that it serves the client and that the refresh tokens continue from
    there."""
    with daemon:
        expect_ok(daemon)
        # If something is unresolved at the start, netproxy resolves it immediately, even without a request.
        eventually(lambda: is_settled(endpoint, len(outcomes)), "the start settles it")
        equal(endpoint.outcomes(), outcomes, "token requests after the start")
        done = daemon.command("token", "orders", "--refresh")
        equal(done.returncode, 0, f"netproxy token --refresh ({done.stderr})")
        expect_ok(daemon)
        equal(endpoint.outcomes(), [*outcomes, "rotated"], "token requests in the end")
        expect_no_reuse(endpoint)


def left_behind(daemon):
    """Returns the state that a restart finds: the number of the refresh token, and other files."""
    with open(daemon.token_file(), encoding="utf-8") as file:
        document = json.load(file)
    found = ["token " + document["refresh_token"].removeprefix(REFRESH).split("-")[0]]
    if document.get("intent"):
        found.append("intent")
    if os.path.exists(daemon.token_file() + ".tmp"):
        found.append("temporary file")
    return found


def killed_in_a_system_call(world, system_call, left, of_the_intent, on=None, is_shared=False):
    """Kills the daemon in a call that makes the intent, or the new tokens, durable. The remaining state
    then shows that the kill happened at the intended step."""
    with Endpoint() as endpoint:
        daemon = started(world, endpoint, is_shared)
        place = getattr(daemon, on) if on else None
        if of_the_intent:
            daemon.kill_at(system_call, place)
            refreshing = Refreshing(daemon)
        else:
            endpoint.after.close()
            refreshing = Refreshing(daemon)
            endpoint.after.wait_for_somebody("the token request")
            daemon.kill_at(system_call, place)
            endpoint.after.open()
        daemon.expect_killed()
        refreshing.end()
        equal(left_behind(daemon), left, "what the killed daemon left")
        yield endpoint, daemon


def survives(steps, outcomes):
    for endpoint, daemon in steps:
        expect_alive(daemon, endpoint, outcomes)


@case
def killed_before_the_intent_is_written_the_session_survives(world):
    left = ["token 1", "temporary file"]
    steps = killed_in_a_system_call(world, "fsync", left, of_the_intent=True)
    survives(steps, ["rotated"])


@case
def killed_before_the_intent_is_in_its_place_the_session_survives(world):
    left = ["token 1", "temporary file"]
    steps = killed_in_a_system_call(world, "rename", left, of_the_intent=True)
    survives(steps, ["rotated"])


@case
def killed_between_intent_and_request_the_session_survives(world):
    """The intent exists and the request was never sent: the start resolves it with one refresh."""
    left = ["token 1", "intent"]
    steps = killed_in_a_system_call(world, "fsync", left, of_the_intent=True, on="state")
    survives(steps, ["rotated", "rotated"])


@case
def killed_before_the_tokens_are_written_the_session_survives_in_the_grace(world):
    left = ["token 1", "intent", "temporary file"]
    steps = killed_in_a_system_call(world, "fsync", left, of_the_intent=False)
    survives(steps, ["rotated", "rotated", "repeated"])


@case
def killed_before_the_tokens_of_an_identity_are_written_its_channels_survive_in_the_grace(world):
    left = ["token 1", "intent", "temporary file"]
    steps = killed_in_a_system_call(world, "fsync", left, of_the_intent=False, is_shared=True)
    for endpoint, daemon in steps:
        with daemon:
            answers = [get(daemon, path + "/1").status for path in daemon.paths]
            equal(answers, [200, 200], "what the channels answer after the start")
            expect_no_reuse(endpoint)
            outcomes = endpoint.outcomes()
            equal(outcomes[:3], ["rotated", "rotated", "repeated"], "token requests")
            check(len(outcomes) <= 4, f"one more for the channel that asks for less: {outcomes}")


@case
def killed_before_the_tokens_are_in_their_place_the_session_survives_in_the_grace(world):
    left = ["token 1", "intent", "temporary file"]
    steps = killed_in_a_system_call(world, "rename", left, of_the_intent=False)
    survives(steps, ["rotated", "rotated", "repeated"])


@case
def killed_before_the_directory_is_durable_the_session_survives(world):
    """The file has its final name; a kill, unlike a power failure, does not undo this."""
    left = ["token 2"]
    steps = killed_in_a_system_call(world, "fsync", left, of_the_intent=False, on="state")
    survives(steps, ["rotated", "rotated"])


def killed_at_a_gate(endpoint, daemon, gate):
    gate.close()
    refreshing = Refreshing(daemon)
    gate.wait_for_somebody("the token request")
    daemon.kill()
    refreshing.end()
    gate.open()
    eventually(lambda: "arrived" not in endpoint.outcomes(), "the server is done with the request")


@case
def killed_before_the_server_has_acted_the_session_survives(world):
    """The server ignores the request of a killed daemon, so the token is still valid, even without a grace
    window."""
    with Endpoint(grace=0) as endpoint:
        daemon = started(world, endpoint)
        endpoint.drop_held = True
        killed_at_a_gate(endpoint, daemon, endpoint.before)
        endpoint.drop_held = False
        expect_alive(daemon, endpoint, ["rotated", "dropped", "rotated"])


@case
def killed_while_the_server_acts_the_session_survives_in_the_grace(world):
    """The server processes the request of the killed daemon."""
    with Endpoint() as endpoint:
        daemon = started(world, endpoint)
        killed_at_a_gate(endpoint, daemon, endpoint.before)
        expect_alive(daemon, endpoint, ["rotated", "rotated", "repeated"])


@case
def killed_before_the_answer_is_there_the_session_survives_in_the_grace(world):
    with Endpoint() as endpoint:
        daemon = started(world, endpoint)
        killed_at_a_gate(endpoint, daemon, endpoint.after)
        expect_alive(daemon, endpoint, ["rotated", "rotated", "repeated"])


@case
def killed_before_the_app_has_its_answer_the_session_survives(world):
    """The new tokens are durable: no token request is necessary, with or without a grace window."""
    with Endpoint(grace=0) as endpoint:
        daemon = started(world, endpoint)
        endpoint.revoke()
        endpoint.api.close()
        answers = []
        app = threading.Thread(target=lambda: answers.append(get(daemon)))
        app.start()
        endpoint.api.wait_for_somebody("the request with the new token")
        daemon.kill()
        app.join(60)
        endpoint.api.open()
        equal([answer.status for answer in answers], [0], "statuses that the app saw")
        expect_alive(daemon, endpoint, ["rotated", "rotated"])


@case
def killed_after_the_rotation_without_a_grace_it_says_what_to_do(world):
    """This session cannot be recovered: the lost response contained the only valid refresh token."""
    with Endpoint(grace=0) as endpoint:
        daemon = started(world, endpoint)
        killed_at_a_gate(endpoint, daemon, endpoint.after)
        with daemon:
            def refused():
                answer = get(daemon)
                # Until the server refuses, the stored access token is used, or the API's 401 is returned.
                check(answer.status in (200, 401, 503), f"status ({answer})")
                return answer if answer.status == 503 else None

            problem = json.loads(eventually(refused, "the app is told", 20).body)
            equal(problem["type"], "urn:netproxy:error:reauthorization_required", "problem type")
            for word in ("invalid_grant", "an earlier answer was lost", "sign in again"):
                check(word in problem["detail"], f"'{word}' is not in: {problem['detail']}")
            token = json.loads(daemon.command("status", "--json").stdout)["channels"][0]["token"]
            equal(token["state"], "dead", f"state in the status ({token})")
            check("sign in again" in token["last_error"], f"last error in the status: {token}")
            eventually(lambda: any(
                line["event"] == "token" and line["level"] == "error"
                and "sign in again" in line.get("message", "")
                for line in read_json_lines(daemon.log_path("orders"))),
                "the channel's log says what to do")
            for _ in range(3):
                equal(get(daemon).status, 503, "status of the requests after it")
        # The refusal is remembered: no further request is sent, even after another start.
        with daemon:
            problem = json.loads(eventually(refused, "the app is told", 20).body)
            check("sign in again" in problem["detail"], f"detail: {problem}")
        equal(endpoint.outcomes(), ["rotated", "rotated", "reused"], "token requests in the end")
