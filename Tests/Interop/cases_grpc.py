"""gRPC through netproxy with grpcio at both ends: a client without a token, a service that requires one.

The client uses HTTP/2 over plain TCP with prior knowledge and selects the channel by its authority; the
service uses TLS. See grpc_hello.
"""

import json
import os
import subprocess

from harness import Child, Failure, case, check, clean_environment, equal, eventually, free_port
from cases_readme import GUIDE, block
from proxy import Netproxy
from world import HERE, read_json_lines

HELLO = os.path.join(HERE, "grpc_hello")


class Greeter:
    """The service as a child process, which checks every token with the authorization server."""

    def __init__(self, world):
        self.world, self.port = world, free_port()
        self.log = world.path(world.unique("greeter") + ".jsonl")
        self.child = Child(
            [world.python, "-B", os.path.join(HELLO, "server.py"), str(self.port),
             world.path("server.pem"), world.path("server.key"), world.auth.base + "/api/greeter",
             self.log], world.directory, world.unique("greeter"))

    def __enter__(self):
        self.child.wait_for_port(self.port)
        return self

    def __exit__(self, *_):
        self.child.stop(20)

    def channel(self, client, **keys):
        channel = self.world.oauth_channel(client, **keys)
        return {**channel, "upstream": f"https://localhost:{self.port}", "http": "auto"}

    def calls(self, count=1):
        """Waits for the given number of finished calls, and returns their records."""

        def probe():
            found = read_json_lines(self.log)
            return found if len(found) >= count else None

        return eventually(probe, f"the greeter has a record of {count} call(s)", 10)


def ask(proxy, call, number=1, authority="greeter.localhost"):
    """Sends one call by the client; returns its output."""
    try:
        done = subprocess.run(
            [proxy.world.python, "-B", os.path.join(HELLO, "client.py"), str(proxy.port),
             authority, call, str(number)], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=60, env=clean_environment())
    except subprocess.TimeoutExpired:
        raise Failure(f"{call}: the app did not end within 60 s") from None
    text = done.stderr.decode(errors="replace")
    equal(done.returncode, 0, f"{call}: exit code of the app ({text[-600:]})")
    return json.loads(done.stdout)


def succeeded(proxy, call, number=1):
    answer = ask(proxy, call, number)
    equal((answer["code"], answer["details"]), ("OK", ""), f"status of {call}")
    return answer


def record(proxy, method="SayHello", index=-1, count=1):
    """Waits for the given number of log lines for the method, and returns one of them."""

    def probe():
        found = [each for each in proxy.exchanges("greeter")
                 if each.get("path", "").endswith("/" + method)]
        return found if len(found) >= count else None

    return eventually(probe, f"greeter.log has {count} line(s) for {method}", 5)[index]


def grpc_status(line):
    check("grpc_status" in line, f"the log has no grpc_status: {line}")
    return int(line["grpc_status"])


@case
def grpc_in_all_four_kinds(world):
    """A unary call, a stream in each direction, and a conversation that alternates."""
    client = world.auth.register()
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(client)}) as proxy:
        answer = succeeded(proxy, "unary")
        equal(answer["messages"], [{"text": "hello world", "echo": ""}], "the answer")
        equal(answer["trailing"], {"x-greeted": "yes", "x-proof-bin": "00ff"}, "the trailers")
        answer = succeeded(proxy, "server_stream", 50)
        equal(answer["messages"], [{"number": each} for each in range(50)], "the stream")
        answer = succeeded(proxy, "client_stream", 300)
        equal(answer["messages"], [{"count": 300, "size": 300000}], "what the service counted")
        answer = succeeded(proxy, "converse", 20)
        equal(answer["messages"], [{"answer_to": each} for each in range(20)], "the conversation")
        calls = {each["method"]: each for each in greeter.calls(4)}
        equal({each["code"] for each in calls.values()}, {"OK"}, "codes at the service")
        metadata = calls["SayHello"]["metadata"]
        equal(metadata["x-app"], "yes", "the app's metadata")
        equal(metadata["x-app-bin"], "00fe", "the app's binary metadata")
        token = world.auth.live_tokens(client)[0]
        for method, call in calls.items():
            equal(call["metadata"]["authorization"], "Bearer " + token, f"token of {method}")
            line = record(proxy, method)
            equal((line["status"], grpc_status(line)), (200, 0), f"log of {method}")
            check(line["protocol"].startswith("HTTP/2"), f"protocol of {method}: {line}")
        equal(len(world.auth.token_requests(client)), 1, "token requests")


@case
def grpc_messages_large_and_many(world):
    client = world.auth.register()
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(client)}) as proxy:
        size = 3 << 20
        equal(succeeded(proxy, "large", size)["messages"], ["hello world", size], "3 MB and back")
        equal(succeeded(proxy, "many", 300)["messages"], [300, True], "300 calls, 50 at once")
        equal(len(world.auth.token_requests(client)), 1, "token requests")


@case
def grpc_errors_of_the_service_arrive_with_their_words(world):
    """Without any message, as a head that ends the stream, and after a stream of messages."""
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(world.auth.register())}) as proxy:
        answer = ask(proxy, "nobody")
        equal((answer["code"], answer["details"]),
              ("NOT_FOUND", "nobody is here: 100 % sure, schön"), "the error")
        equal(grpc_status(record(proxy)), 5, "grpc_status in the log")
        answer = ask(proxy, "server_stream_that_fails", 3)
        equal((answer["code"], answer["details"]), ("DATA_LOSS", "the rest is lost"),
              "the error behind a stream")
        equal(answer["messages"], [{"number": each} for each in range(3)], "the stream")
        equal(grpc_status(record(proxy, "SayHellos")), 15, "grpc_status in the log")
        succeeded(proxy, "unary")


@case
def grpc_deadline_reaches_the_service(world):
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(world.auth.register())}) as proxy:
        succeeded(proxy, "unary")
        answer = ask(proxy, "sleeper")
        equal(answer["code"], "DEADLINE_EXCEEDED", "the status")
        check(answer["seconds"] < 7, f"the app waited {answer['seconds']:.1f} s")
        call = greeter.calls(2)[1]
        check(call["remaining"] is not None and 0 < call["remaining"] <= 3,
              f"the service had {call['remaining']} s")
        succeeded(proxy, "unary")


@case
def grpc_token_revoked_is_renewed_once_and_the_call_replayed(world):
    """UNAUTHENTICATED without any message corresponds to a 401."""
    client = world.auth.register()
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(client)}) as proxy:
        succeeded(proxy, "unary")
        old = world.auth.live_tokens(client)[0]
        world.auth.revoke(client)
        mark = world.auth.mark()
        equal(succeeded(proxy, "unary")["messages"], [{"text": "hello world", "echo": ""}],
              "the answer")
        equal(len(world.auth.token_requests(client, mark)), 1, "token requests")
        equal([each["code"] for each in greeter.calls(3)], ["OK", "UNAUTHENTICATED", "OK"],
              "calls that the service saw")
        tokens = [each["metadata"]["authorization"][7:] for each in greeter.calls(3)]
        equal(tokens, [old, old, world.auth.live_tokens(client)[0]], "their tokens")
        line = record(proxy, count=2)
        equal((line["attempts"], line["retries"]), (2, ["unauthorized"]), "attempts in the log")
        equal(grpc_status(line), 0, "grpc_status in the log")
        equal(line["auth"]["refreshed"], True, "auth.refreshed in the log")
        # A conversation with a dead token has begun with its first message. It is not lost: it is either
        # replayed or gets the service's own error, and the next one has a new token.
        world.auth.revoke(client)
        answer = ask(proxy, "converse", 3)
        check(answer["code"] in ("OK", "UNAUTHENTICATED"), f"a conversation: {answer}")
        succeeded(proxy, "converse", 3)
        equal(len(world.auth.token_requests(client, mark)), 2, "token requests in the end")


@case
def grpc_errors_of_netproxy_are_statuses(world):
    """netproxy's own errors are gRPC statuses, so that no client has to interpret an HTTP status."""
    dead = {"upstream": f"http://127.0.0.1:{free_port()}", "http": "http2",
            "retry": {"attempts": 0}}
    with Netproxy(world, {"greeter": dead}) as proxy:
        answer = ask(proxy, "unary")
        equal(answer["code"], "UNAVAILABLE", f"nobody listens at the upstream ({answer})")
        check("http2 header" not in answer["details"], f"guessed: {answer['details']}")
        line = record(proxy)
        equal((line["error"], grpc_status(line)), ("connection_refused", 14), "its log")
        answer = ask(proxy, "server_stream")
        equal(answer["code"], "UNAVAILABLE", f"the same for a stream ({answer})")
        answer = ask(proxy, "unary", authority="nothing.localhost")
        check(answer["code"] in ("UNIMPLEMENTED", "NOT_FOUND", "UNAVAILABLE",
                                 "PERMISSION_DENIED", "FAILED_PRECONDITION"),
              f"no channel: {answer}")
        check("http2 header" not in answer["details"], f"guessed: {answer['details']}")
        check(answer["details"], "no words about a channel that does not exist")


@case
def grpc_cancel_reaches_the_service(world):
    with Greeter(world) as greeter, \
            Netproxy(world, {"greeter": greeter.channel(world.auth.register())}) as proxy:
        answer = succeeded(proxy, "cancel")
        equal(answer["messages"], [{"number": 0}, {"number": 1}, "hello again"], "what came")
        calls = {each["method"]: each["code"] for each in greeter.calls(2)}
        equal(calls, {"SayHellos": "CANCELLED", "SayHello": "OK"}, "calls that the service saw")
        line = record(proxy, "SayHellos")
        equal(line["aborted_by"], "client", "aborted_by in the log")


# The steps after the blocks of the guide and the README: a call and a conversation.
HELLO_WORLD = """
say = channel.unary_unary("/hello.Greeter/SayHello", json.dumps, json.loads)
print(say({"name": "world"})["text"])
asked = iter([{"number": 1}, {"number": 2}])
converse = channel.stream_stream("/hello.Greeter/Converse", json.dumps, json.loads)
print(len(list(converse(asked))))
"""


@case
def grpc_as_the_documents_say(world):
    readme = block("python", "grpc.default_authority")
    guide = block("python", "grpc.default_authority", f"{GUIDE}/Apps.md")
    check("import grpc" in guide, "the guide's block imports grpc")
    with Greeter(world) as greeter, Netproxy(world, {
            "greeter": greeter.channel(world.auth.register())}) as proxy:
        for text in (guide, "import grpc\n" + readme.replace("orders.localhost", "greeter.localhost")):
            text = text.replace(":8080", f":{proxy.port}") + HELLO_WORLD.replace(
                "json.dumps", "lambda message: json.dumps(message).encode()")
            done = subprocess.run([world.python, "-c", "import json\n" + text],
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  env=clean_environment())
            equal(done.stdout.decode().splitlines(), ["hello world", "2"],
                  f"output ({done.stderr.decode()[-400:]})")
        equal(record(proxy, "Converse")["grpc_status"], 0, "status in the log")
