"""A greeter that provides gRPC over TLS, without generated code: messages are JSON objects.

    server.py PORT CERTIFICATE KEY API LOG

Every call requires a valid bearer token, which is checked with a request to API, a URL of the authorization
server. For each call, LOG gets one JSON line when the call has ended: its method, metadata, deadline,
received messages and outcome.
"""

import json
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent import futures

import grpc


def encode(message):
    return json.dumps(message).encode()


class Greeter:
    """The service, hello.Greeter."""

    def __init__(self, api, log):
        self.api, self.log, self.lock = api, log, threading.Lock()

    def handler(self):
        kinds = {
            "SayHello": (grpc.unary_unary_rpc_method_handler, self.unary),
            "SayHellos": (grpc.unary_stream_rpc_method_handler, self.server_stream),
            "GreetAll": (grpc.stream_unary_rpc_method_handler, self.client_stream),
            "Converse": (grpc.stream_stream_rpc_method_handler, self.both_streams),
        }
        return grpc.method_handlers_generic_handler("hello.Greeter", {
            name: make(self.recorded(name, act, make), json.loads, encode)
            for name, (make, act) in kinds.items()})

    def recorded(self, name, act, make):
        """Wraps a method: its token is checked first, and its record is written last."""
        streams = make in (grpc.unary_stream_rpc_method_handler,
                           grpc.stream_stream_rpc_method_handler)

        def begin(context):
            record = {"method": name, "metadata": dict_of(context.invocation_metadata()),
                      "remaining": context.time_remaining(), "received": [], "is_over": False}
            # Called at the end of the call, regardless of its outcome.
            context.add_callback(lambda: self.write(record, context))
            self.authorize(context)
            return record

        def one(request, context):
            return act(request, context, begin(context))

        def many(request, context):
            yield from act(request, context, begin(context))

        return many if streams else one

    def write(self, record, context):
        code = context.code()
        record["code"] = code.name if code else ("OK" if record["is_over"] else "CANCELLED")
        with self.lock, open(self.log, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def authorize(self, context):
        field = dict_of(context.invocation_metadata()).get("authorization", "")
        request = urllib.request.Request(self.api, headers={"Authorization": field})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            opener.open(request, timeout=10).close()
        except urllib.error.HTTPError:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is not valid")

    @staticmethod
    def unary(request, context, record):
        record["received"].append(size_of(request))
        if request["name"] == "nobody":
            context.abort(grpc.StatusCode.NOT_FOUND, "nobody is here: 100 % sure, schön")
        if request["name"] == "sleeper":
            time.sleep(8)
        context.set_trailing_metadata((("x-greeted", "yes"), ("x-proof-bin", b"\0\xff")))
        record["is_over"] = True
        return {"text": "hello " + request["name"], "echo": request.get("payload", "")}

    @staticmethod
    def server_stream(request, context, record):
        for number in range(request["count"]):
            if not context.is_active():
                return
            yield {"number": number}
            time.sleep(request.get("gap", 0))
        if request.get("fails"):
            context.abort(grpc.StatusCode.DATA_LOSS, "the rest is lost")
        record["is_over"] = True

    @staticmethod
    def client_stream(requests, _, record):
        for request in requests:
            record["received"].append(size_of(request))
        record["is_over"] = True
        return {"count": len(record["received"]), "size": sum(record["received"])}

    @staticmethod
    def both_streams(requests, _, record):
        for request in requests:
            record["received"].append(size_of(request))
            yield {"answer_to": request["number"]}
        record["is_over"] = True


def size_of(request):
    return len(request.get("payload", ""))


def dict_of(metadata):
    return {key: value if isinstance(value, str) else value.hex() for key, value in metadata}


def main():
    port, certificate, key, api, log = sys.argv[1:]
    with open(certificate, "rb") as chain, open(key, "rb") as secret:
        credentials = grpc.ssl_server_credentials([(secret.read(), chain.read())])
    server = grpc.server(futures.ThreadPoolExecutor(32))
    server.add_generic_rpc_handlers((Greeter(api, log).handler(),))
    server.add_secure_port(f"127.0.0.1:{port}", credentials)
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(0))
    server.wait_for_termination()


if __name__ == "__main__":
    main()
