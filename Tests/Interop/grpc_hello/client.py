"""A client of the greeter, over a plain connection with prior knowledge of HTTP/2.

    client.py PORT AUTHORITY CALL [NUMBER]

CALL is one of the functions of `Calls`. Prints one JSON object: the status code's name, the details, the
messages, the trailing metadata and the duration.
"""

import json
import queue
import sys
import time
from concurrent import futures

import grpc

PATIENCE = 20


def encode(message):
    return json.dumps(message).encode()


class Calls:
    """The available calls; each returns the received messages."""

    def __init__(self, channel, number):
        self.number = number
        self.trailing = {}
        methods = {"SayHello": channel.unary_unary, "SayHellos": channel.unary_stream,
                   "GreetAll": channel.stream_unary, "Converse": channel.stream_stream}
        self.methods = {
            name: make("/hello.Greeter/" + name, request_serializer=encode,
                       response_deserializer=json.loads)
            for name, make in methods.items()}

    def say_hello(self, name="world", payload="", timeout=PATIENCE):
        answer, call = self.methods["SayHello"].with_call(
            {"name": name, "payload": payload}, timeout=timeout,
            metadata=(("x-app", "yes"), ("x-app-bin", b"\x00\xfe")))
        self.trailing = {key: value if isinstance(value, str) else value.hex()
                         for key, value in call.trailing_metadata()}
        return [answer]

    def unary(self):
        return self.say_hello()

    def large(self):
        """Sends and receives a message of the given size."""
        answer = self.say_hello(payload="x" * self.number)[0]
        return [answer["text"], len(answer["echo"])]

    def many(self):
        """Makes the given number of calls, 50 at a time, on one connection."""
        with futures.ThreadPoolExecutor(50) as pool:
            names = [str(each) for each in range(self.number)]
            answers = list(pool.map(lambda name: self.say_hello(name)[0]["text"], names))
        return [len(answers), answers == ["hello " + name for name in names]]

    def nobody(self):
        return self.say_hello("nobody")

    def sleeper(self):
        """Makes a call that exceeds its deadline."""
        return self.say_hello("sleeper", timeout=3)

    def server_stream(self):
        return list(self.methods["SayHellos"]({"count": self.number}, timeout=PATIENCE))

    def server_stream_that_fails(self):
        messages = []
        try:
            for message in self.methods["SayHellos"]({"count": self.number, "fails": True},
                                                     timeout=PATIENCE):
                messages.append(message)
        except grpc.RpcError as error:
            error.messages = messages
            raise
        return messages

    def client_stream(self):
        requests = ({"payload": "x" * 1000} for _ in range(self.number))
        return [self.methods["GreetAll"](requests, timeout=PATIENCE)]

    def converse(self):
        """Sends each request only after the response to the previous one."""
        outgoing, messages = queue.Queue(), []
        outgoing.put({"number": 0})
        answers = self.methods["Converse"](iter(outgoing.get, None), timeout=PATIENCE)
        for number in range(self.number):
            messages.append(next(answers))
            outgoing.put({"number": number + 1} if number + 1 < self.number else None)
        messages += list(answers)
        return messages

    def cancel(self):
        """Cancels in the middle of a stream, and keeps the connection."""
        call = self.methods["SayHellos"]({"count": 1000, "gap": 0.1}, timeout=PATIENCE)
        messages = [next(call), next(call)]
        call.cancel()
        messages.append(self.say_hello("again")[0]["text"])
        return messages


def main():
    port, authority, name = sys.argv[1:4]
    number = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    options = [("grpc.default_authority", authority), ("grpc.enable_http_proxy", 0),
               # The test concerns netproxy, so the library must not retry.
               ("grpc.enable_retries", 0)]
    started = time.monotonic()
    result = {"code": "OK", "details": "", "messages": []}
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        calls = Calls(channel, number)
        try:
            result["messages"] = getattr(calls, name)()
        except grpc.RpcError as error:
            result.update(code=error.code().name, details=error.details(),
                          messages=getattr(error, "messages", []))
        result.update(trailing=calls.trailing, seconds=time.monotonic() - started)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
