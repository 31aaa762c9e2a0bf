"""The demo as in its instructions: two terminals, no options, and nothing left afterward."""

import os
import re
import signal
import subprocess
import tempfile

from harness import Failure, case, check, clean_environment, equal, eventually


class Demo:
    """A running demo with its own home and temporary directory, and commands for it."""

    def __init__(self, world):
        self.world = world
        self.place = tempfile.TemporaryDirectory()
        home, scratch = (os.path.join(self.place.name, name) for name in ("home", "tmp"))
        os.mkdir(home)
        os.mkdir(scratch)
        names = os.path.join(self.place.name, "bin")
        os.mkdir(names)
        os.symlink(world.netproxy, os.path.join(names, "netproxy"))
        self.environment = clean_environment(HOME=home, TMPDIR=scratch, COLUMNS="120")
        for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            self.environment.pop(name, None)
        self.environment["PATH"] = f"{names}:{self.environment['PATH']}"
        self.said = ""

    def __enter__(self):
        self.process = subprocess.Popen(
            ["netproxy", "demo", "--port", "0"], env=self.environment, cwd=self.place.name,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)
        eventually(lambda: "Ctrl-C" in self.output(), "the demo's introduction")
        return self

    def output(self):
        self.said += (self.process.stdout.read() or b"").decode()
        return self.said

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.place.cleanup()

    def shell(self, command):
        return subprocess.run(["sh", "-c", command], env=self.environment, cwd=self.place.name,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, text=True)

    def printed(self, command):
        done = self.shell(command)
        equal(done.returncode, 0, f"exit code of {command} ({done.stderr})")
        return done.stdout

    def last(self, path):
        """Returns the last line of the log when it has the path."""
        return eventually(lambda: next((line for line in [self.printed("netproxy tail -n 1").rstrip("\n")]
                                        if path in line), None), f"{path} in the log")

    def files(self):
        return sorted(os.path.relpath(os.path.join(directory, name), self.place.name)
                      for root in ("home", "tmp")
                      for directory, below, names in os.walk(os.path.join(self.place.name, root))
                      for name in below + names)


@case
def the_demo_is_the_product(world):
    with Demo(world) as demo:
        said = demo.output()
        check(len(said.splitlines()) <= 15, f"more than 15 lines:\n{said}")
        page = re.search(r"page: (http://[^ ]+)", said)
        check(page, f"no page in\n{said}")
        for line in said.splitlines():
            # Printed commands work unchanged; `#` also begins a comment in sh.
            if line.strip().startswith("curl"):
                demo.printed(f"{line.strip()}")
        for name in ("status", "tail", "why", "token"):
            check(f"netproxy {name}" in said, f"the demo does not name {name}")
        refused = re.search(r"(\w{15})\s*$", demo.last("/nowhere"))
        check(refused, "the last line has no id")
        check("/nowhere" in demo.printed(f"netproxy why {refused[1]}"), "why does not explain /nowhere")
        demo.printed("netproxy why")
        check("orders" in demo.printed("netproxy status"), "status lacks the channel")
        check("generation" in demo.printed("netproxy token orders"), "token lacks its generation")
        # The page reads its list from there; Tests/Browser tests the page itself.
        shown = demo.printed(f"curl -sS --max-time 4 '{page[1]}tail?last=100' || true")
        check("/nowhere" in shown, "the page does not get the log")
        demo.process.send_signal(signal.SIGINT)
        demo.process.wait(35)
        equal(demo.files(), [], "what Ctrl-C left")


@case
def tail_as_curl_runs_as_printed(world):
    with Demo(world) as demo:
        base = re.search(r"http://127\.0\.0\.1:\d+", demo.output())[0]
        with open(os.path.join(demo.environment["HOME"], ".curlrc"), "w", encoding="utf-8") as file:
            file.write('silent\noutput = /dev/null\nwrite-out = "%{http_code}"\n')
        for path in ("/nowhere", "/public/hello", "/orders/42?x=1"):
            status = demo.printed(f"curl '{base}{path}'")
            demo.last(path.partition("?")[0])
            command = demo.printed("netproxy tail -n 1 --as curl")
            check("uthorization" not in command, f"a credential in {command}")
            # The command is unchanged; .curlrc makes it print the status.
            equal(demo.printed(command), status, f"output of {command}")
        if not demo.printed("netproxy tail -n 1 --as curl-upstream"):
            raise Failure("nothing for the upstream")
