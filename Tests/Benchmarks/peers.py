"""The upstream, netproxy and other proxies, all with the same task.

They receive plain HTTP, remove a path prefix, add three default headers and a bearer token of 900 bytes,
forward over pooled connections, and write one structured log line per request. One worker each, on one core.
"""

import json
import os
import re
import shutil
import subprocess
import sys

from measuring import LOAD_CORE, PROXY_CORE, pinned
from harness import Child, Failure, clean_environment, eventually, free_port

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
CREDENTIAL = "Bearer " + "t" * 900
HEADERS = {"X-Client": "benchmark", "X-App-Version": "1.2.3", "Accept-Language": "en"}
BODY = json.dumps({"id": 1, "items": list(range(10)), "note": "n" * 650})
LARGE = 100_000


def tool(name):
    """Returns the path of the program; servers are in /usr/sbin."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Failure(f"{name} is not installed (Debian: nginx-light haproxy wrk openssl)")
    return path


def indented(lines, by):
    return f"\n{' ' * by}".join(lines)


class Peers:
    """Starts the programs in a directory; `stop` ends them."""

    def __init__(self, directory):
        self.directory = directory
        os.chmod(directory, 0o755)
        self.port = {}
        self.child = {}
        self.values = {
            "dir": directory,
            # Workers of another user could not read the files in the directory.
            "user": "user root;" if os.geteuid() == 0 else "",
            "credential": CREDENTIAL,
            "token": CREDENTIAL.removeprefix("Bearer "),
            "body": BODY,
        }

    def stop(self):
        for child in self.child.values():
            child.signal(15)
        for child in self.child.values():
            try:
                child.stop()
            except Failure:
                pass

    def url(self, name, path):
        return f"http://127.0.0.1:{self.port[name]}{path}"

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def fill(self, template, output=None, **values):
        """Creates a file from the template; `@word@` is replaced by a value."""
        with open(os.path.join(TEMPLATES, template), encoding="utf-8") as file:
            text = file.read()
        ports = {f"port_{key}": str(port) for key, port in self.port.items()}
        for key, value in {**self.values, **ports, **values}.items():
            text = text.replace(f"@{key}@", value)
        return self.write(output or template, text)

    def start(self, name, command, core, port=None):
        child = Child(pinned(core, command), self.directory, name)
        self.child[name] = child
        if port:
            child.wait_for_port(port)
        return child

    def upstream(self):
        for name in ("upstream", "upstream_tls", "upstream_h2"):
            self.port[name] = free_port()
        subprocess.run(
            [tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
             "-keyout", self.path("key.pem"), "-out", self.path("cert.pem"), "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True, timeout=60)
        os.makedirs(self.path("www"), exist_ok=True)
        with open(self.path("www/large.bin"), "wb") as file:
            file.write(os.urandom(LARGE))
        configuration = self.fill("upstream.conf")
        self.start("upstream", [tool("nginx"), "-e", self.path("upstream.err"), "-c",
                                configuration], LOAD_CORE, self.port["upstream"])

    def nginx(self):
        self.port["nginx"] = free_port()
        fields = [f'proxy_set_header {name} "{value}";' for name, value in HEADERS.items()]
        configuration = self.fill("nginx.conf", fields=indented(fields, 8))
        self.start("nginx", [tool("nginx"), "-e", self.path("nginx.err"), "-c", configuration],
                   PROXY_CORE, self.port["nginx"])

    def haproxy(self):
        """Starts HAProxy, which cannot write a file: a process on the other core receives its log lines."""
        for name in ("haproxy", "relay"):
            self.port[name] = free_port()
        sink = os.path.join(os.path.dirname(TEMPLATES), "sink.py")
        self.start("sink", [sys.executable, sink, self.path("log.sock"),
                            self.path("haproxy.log")], LOAD_CORE)
        eventually(lambda: os.path.exists(self.path("log.sock")), "the sink listens")
        fields = [f'http-request set-header {name} "{value}"' for name, value in HEADERS.items()]
        configuration = self.fill("haproxy.cfg", fields=indented(fields, 4))
        self.start("haproxy", [tool("haproxy"), "-f", configuration], PROXY_CORE,
                   self.port["haproxy"])
        self.child["relay"] = self.child["haproxy"]

    def envoy(self, program):
        self.port["envoy"] = free_port()
        self.fill("envoy-secret.yaml")
        fields = [f"- header: {{ key: {name}, value: {json.dumps(value)} }}"
                  for name, value in HEADERS.items()]
        configuration = self.fill("envoy.yaml", fields=indented(fields, 14))
        self.start("envoy", [os.path.abspath(program), "-c", configuration, "--concurrency", "1",
                             "--base-id", str(os.getpid() % 100_000), "--service-node", "one",
                             "--service-cluster", "one", "--log-level", "error"],
                   PROXY_CORE, self.port["envoy"])

    def choose_port(self, name):
        self.port[name] = free_port()

    def netproxy(self, program, name="netproxy", workers=1, channels=(), limits=""):
        """Starts one daemon with the channels `plain`, `tls` and `h2`, and more channels like `plain`."""
        self.choose_port(name)
        self.configure(name, workers, channels, limits)
        return self.start(name, [os.path.abspath(program), "run", "--config",
                                 self.path(f"{name}.yaml")], PROXY_CORE, self.port[name])

    def configure(self, name="netproxy", workers=1, channels=(), limits="", headers=None):
        """Writes the configuration of a daemon, initially or for a reload."""
        fields = ", ".join(f"{key}: {json.dumps(value)}"
                           for key, value in (headers or HEADERS).items())
        more = "".join(
            f"  {channel}:\n"
            f"    upstream: http://127.0.0.1:{self.port['upstream']}\n"
            f"    headers: {{ default: {{ {fields} }} }}\n"
            f"    auth: {{ bearer: 'literal:{self.values['token']}' }}\n"
            for channel in channels)
        self.fill("netproxy.yaml", f"{name}.yaml", name=name, port=str(self.port[name]),
                  workers=str(workers), fields=fields, more=more, limits=limits)


def versions(program, envoy=None):
    """Returns the versions of all compared programs."""
    def said(command):
        result = subprocess.run(command, capture_output=True, text=True, timeout=30,
                                env=clean_environment(), check=False)
        return (result.stdout + result.stderr).strip()

    found = {
        "netproxy": said([program, "--version"]).split()[1],
        "nginx": said([tool("nginx"), "-v"]).rpartition("/")[2],
        "haproxy": said([tool("haproxy"), "-v"]).split()[2].partition("-")[0],
    }
    if envoy:
        found["envoy"] = re.search(r"/(\d+\.\d+\.\d+)/", said([envoy, "--version"])).group(1)
    return found
