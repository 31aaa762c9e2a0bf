"""Runs the commands in the README and the guide; the blocks are read from the files."""

import base64
import json
import os
import re
import shutil
import subprocess

from endpoint import Endpoint
from etcd import Cluster
from fleet import grant_of
from harness import Skipped, case, check, clean_environment, equal
from machines import Machine
from namespaces import Network
from proxy import Netproxy
from traffic import curl
from world import HERE

ORDER = '{"id":42}'
# The guide's stub block, as a value; `readme_stub` compares it with the text.
STUB = [
    {"path": "/42", "headers": {"Content-Type": "application/json"}, "body": ORDER},
    {"method": "POST", "delay": "250ms", "status": 201},
    {"path": "/broken", "fault": "connection_refused"},
]


GUIDE = "Sources/Daemon/Documentation.docc/Guide"


def block(language, part, path="README.md"):
    """Returns the first block in a document's language that contains `part`."""
    with open(os.path.join(HERE, "..", "..", path), encoding="utf-8") as file:
        text = file.read()
    for found in re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S):
        if part in found:
            return found
    check(False, f"{path} has no {language} block with {part!r}")


def app_block(language, part):
    return block(language, part, f"{GUIDE}/Apps.md")


def typed(proxy, command, seconds=60, **variables):
    """Runs one of the README's commands in the daemon's directory."""
    names = os.path.join(proxy.directory, "bin")
    os.makedirs(names, exist_ok=True)
    if not os.path.exists(os.path.join(names, "netproxy")):
        os.symlink(proxy.world.netproxy, os.path.join(names, "netproxy"))
    environment = clean_environment(
        HOME=proxy.directory, NETPROXY_CONFIG=proxy.config_path, **variables)
    environment["PATH"] = f"{names}:{environment['PATH']}"
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=seconds, env=environment,
                          cwd=proxy.directory)
    words = (done.stdout + done.stderr).decode(errors="replace")
    check(done.returncode == 0, f"exit {done.returncode}: {words[-600:]}")
    return done.stdout.decode()


def stubbed(world, **channel):
    return Netproxy(world, {
        "orders": {"upstream": "https://api.example.com/v1", "stub": STUB, **channel}})


def local(text, proxy):
    return text.replace(":8080", f":{proxy.port}")


@case
def readme_stub(world):
    text = re.sub(r"\s", "", app_block("yaml", "stub:"))
    for entry in STUB:
        for key, value in entry.items():
            written = value if isinstance(value, (str, int)) else next(iter(value.values()))
            check(f"{key}:" in text and str(written) in text, f"the guide's stub lacks {key}")
    with stubbed(world) as proxy:
        found = curl(proxy, proxy.url("/orders/42"))
        equal((found.status, found.body), (200, ORDER.encode()), "stubbed answer")
        check("stub" in found.fields.get("proxy-status", ""), f"Proxy-Status: {found}")
        made = curl(proxy, "-d", "x", proxy.url("/orders/43"))
        equal(made.status, 201, "status of the POST")
        check(made.seconds >= 0.25, f"answered after {made.seconds:.3f} s, without the delay")
        broken = curl(proxy, proxy.url("/orders/broken"))
        equal(broken.status, 502, "status of the fault")
        equal(proxy.exchange("orders", "/v1/broken")["error"], "connection_refused", "error")
        equal(proxy.exchange("orders", "/v1/42")["upstream"], "stub", "upstream in the log")


@case
def readme_curl_lines(world):
    with stubbed(world) as proxy:
        for text in block("bash", "http_proxy=http"), app_block("bash", "http_proxy=http"):
            lines = [line for line in local(text, proxy).splitlines() if line]
            equal(len(lines), 3, "lines of the block")
            for line in lines:
                equal(typed(proxy, ["sh", "-c", line]), ORDER, line)


@case
def readme_python(world):
    with stubbed(world) as proxy:
        text = typed(proxy, [world.python, "-c", local(app_block("python", "urllib.request"), proxy)])
        equal(text.splitlines(), ["200", "{'id': 42}", "{'id': 42}"], "output")


@case
def readme_node(world):
    node = shutil.which("node")
    if not node:
        raise Skipped("node is not installed")
    with stubbed(world) as proxy:
        program = os.path.join(proxy.directory, "orders.mjs")
        with open(program, "w", encoding="utf-8") as file:
            file.write(local(app_block("js", "ORDERS_URL"), proxy))
        equal(typed(proxy, [node, program]).strip(), "200 { id: 42 }", "output")


# The program of the README's block, which knows the API by its usual name or the variable.
REPORT = """
import os, urllib.request

print(urllib.request.urlopen("http://api.example.com/v1/42").read().decode(), end="")
assert os.environ["NETPROXY_KEY"] and os.environ["NETPROXY_ORDERS_URL"].endswith("/orders")
"""


@case
def readme_exec(world):
    lines = [line for text in (block("bash", "exec -- python3"), app_block("bash", "exec -- python3"))
             for line in text.splitlines() if line]
    equal(len(lines), 4, "lines of the blocks")
    with stubbed(world, access={"key": "literal:only-the-owner"}) as proxy:
        equal(curl(proxy, proxy.url("/orders/42")).status, 401, "status without a key")
        with open(os.path.join(proxy.directory, "report.py"), "w", encoding="utf-8") as file:
            file.write(REPORT)
        for line in lines:
            equal(typed(proxy, ["sh", "-c", line]), ORDER, line)


@case
def readme_exec_as_api_key(world):
    line = app_block("bash", "--channel llm").strip()
    words = {"OPENAI_BASE_URL": "url", "OPENAI_API_KEY": "key"}
    written = "exec: { " + ", ".join(f"{name}: {word}" for name, word in words.items()) + " }"
    check(written in app_block("yaml", "exec:"), f"the guide's channel lacks {written}")
    channel = {"upstream": "https://api.example.com/v1", "stub": STUB, "exec": words,
               "auth": {"bearer": "literal:the-real-key"},
               "access": {"key": "literal:only-the-owner"}}
    with Netproxy(world, {"llm": channel}) as proxy:
        os.makedirs(os.path.join(proxy.directory, "bin"), exist_ok=True)
        agent = os.path.join(proxy.directory, "bin", "agent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nunset http_proxy HTTP_PROXY\n'
                       'exec curl -sSf "$OPENAI_BASE_URL/42" '
                       '-H "Authorization: Bearer $OPENAI_API_KEY"\n')
        os.chmod(agent, 0o755)
        equal(typed(proxy, ["sh", "-c", line]), ORDER, line)
        equal(proxy.exchange("llm", "/v1/42")["status"], 200, "status in the log")


class GuideMachine(Machine):
    """A machine with the configuration of the guide's page on fleets."""

    def __init__(self, world, endpoint, cluster, key, place):
        super().__init__(world, endpoint, cluster, key, place=place)
        text = block("yaml", "state_key: file:/etc/netproxy/state.key\nstate:",
                     f"{GUIDE}/Fleet.md")
        grant = ("{ grant: authorization_code, issuer: https://login.example.com, client_id: app, "
                 "client_auth: none }")
        # The servers of the example are elsewhere, and the user has already signed in.
        for old, new in (("/etc/netproxy/state.key", key),
                         ("https://10.9.0.1:2379], ca: /etc/netproxy/etcd-ca.pem",
                          cluster.endpoints[0] + "]"),
                         (grant, json.dumps(grant_of(endpoint, world))),
                         ("https://api.example.com", endpoint.base + "/api")):
            check(old in text, f"the guide's example has no {old}")
            text = text.replace(old, new)
        lines = [line for line in text.splitlines() if line.strip()]
        check(len(lines) <= 10, f"the guide's example has {len(lines)} lines, not ten")
        own = {key: self.config[key] for key in ("listen", "admin", "log")}
        self.text = json_lines(own) + text

    def write_config(self, text=None):
        super().write_config(text or self.text)


def json_lines(keys):
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())


@case
def fleet_example_brings_up_two_machines_on_one_identity(world):
    """The guide's ten lines, on two machines (network namespaces) with an etcd on a third."""
    key = world.secret_file(base64.b64encode(os.urandom(32)).decode())
    with Network() as network, Endpoint(lifetime=60.0) as endpoint:
        store, *places = (network.add() for _ in range(3))
        with Cluster(world, tls=False, places=[store]) as cluster:
            machines = []
            for place in places:
                endpoint.serve_on(place.listener(endpoint.port), place)
                machines.append(GuideMachine(world, endpoint, cluster, key, place))
            for machine in machines:
                machine.start()
            equal([status_in(machine) for machine in machines], [200, 200], "answers")
            equal(endpoint.outcomes(), ["rotated"], "token requests")
            renewed = machines[0].command("token", "work", "--refresh")
            equal(renewed.returncode, 0, "exit status of a renewal")
            # The machine that has not renewed uses the new token immediately, or is refused.
            with endpoint.lock:
                for old in list(endpoint.access)[:-1]:
                    del endpoint.access[old]
            equal([status_in(machine) for machine in machines], [200, 200], "answers")
            equal(endpoint.outcomes(), ["rotated", "rotated"], "token requests")
            for machine in machines:
                machine.__exit__(None, None, None)


def status_in(machine):
    """Returns the status of a client's request on the machine."""
    with machine.place.socket() as link:
        link.settimeout(20)
        link.connect(("127.0.0.1", machine.port))
        link.sendall(b"GET /orders/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return int(link.recv(4096).split()[1])
