"""`netproxy exec --with`: real clients, without a configuration and without a daemon."""

import json
import os
import signal
import subprocess
import sys

import sdk_apis
from cases_clients import program
from guarded import CREDENTIAL, Reply, bearer
from harness import accepts, case, check, clean_environment, equal, eventually
from proxy import Netproxy
from world import HERE


def command(world, name, api, *words, path="", options=()):
    """Returns the command that runs a program with a preset in front of an API."""
    return [world.netproxy, "exec", "--with", name, "--set", f"upstream={api.base}{path}", *options,
            "--", *words]


def run(world, line, seconds=30, **variables):
    """Runs a command with a home directory of its own and without a terminal."""
    home = world.path(world.unique("home"))
    os.makedirs(home, mode=0o700)
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, cwd=home,
                          env=clean_environment(HOME=home, TMPDIR=home, XDG_RUNTIME_DIR=home,
                                                **variables))


def done(found):
    words = (found.stdout + found.stderr).decode(errors="replace")
    equal(found.returncode, 0, f"exit status; {words[-600:]}")
    check(CREDENTIAL not in words, "the credential was shown")
    return found.stdout.decode()


def sdk(world, name, library, api, *arrived, path="", **variables):
    with api:
        client = [world.python, os.path.join(HERE, "clients", "sdks.py"), library]
        found = run(world, command(world, name, api, *client, path=path), **variables)
        equal(done(found).strip(), "ok", "the client's output")
        api.check(*arrived)


@case
def preset_openai(world):
    sdk(world, "openai", "openai", sdk_apis.openai(), "GET /v1/models", "POST /v1/files", path="/v1",
        OPENAI_API_KEY=CREDENTIAL)


@case
def preset_anthropic(world):
    sdk(world, "anthropic", "anthropic", sdk_apis.anthropic(), "POST /v1/messages", "GET /v1/models",
        ANTHROPIC_API_KEY=CREDENTIAL)


@case
def preset_google_genai(world):
    script = """
from google import genai
client = genai.Client()
print(client.models.generate_content(model="gemini-test", contents="Hi").text)
"""
    with sdk_apis.google_genai() as api:
        found = run(world, command(world, "gemini", api, world.python, "-c", script),
                    GEMINI_API_KEY=CREDENTIAL)
        equal(done(found).strip(), "hello world", "the client's output")
        api.check()


@case
def preset_slack(world):
    sdk(world, "slack", "slack_sdk", sdk_apis.slack(), "POST /api/chat.postMessage", path="/api",
        SLACK_BOT_TOKEN=CREDENTIAL)


@case
def preset_npm(world):
    program("npm")
    document = {"name": "app", "dist-tags": {"latest": "1.2.3"}, "versions": {
        "1.2.3": {"name": "app", "version": "1.2.3", "dist": {}}}}
    with sdk_apis.API(bearer(), {"GET /app": lambda *_: Reply(document)}) as api:
        found = run(world, command(world, "npm", api, "npm", "view", "app", "version"),
                    NPM_TOKEN=CREDENTIAL)
        equal(done(found).strip(), "1.2.3", "npm's output")
        api.check("GET /app")


@case
def preset_kubectl(world):
    program("kubectl")
    with sdk_apis.API(bearer(), {"GET /version": lambda *_: Reply({"major": "1"})}) as api:
        line = [world.netproxy, "exec", "--with", "kubernetes", "--set", f"server={api.base}", "--",
                "sh", "-c", 'kubectl --server="$KUBE_HOST" get --raw /version']
        found = run(world, line, KUBE_TOKEN=CREDENTIAL)
        equal(json.loads(done(found)), {"major": "1"}, "kubectl's output")
        api.check("GET /version")


@case
def preset_program(world):
    """The program has a key of the usual shape instead of the credential; its exit status is passed on."""
    with sdk_apis.openai() as api:
        def exits(script, **variables):
            line = command(world, "openai", api, "sh", "-c", script, path="/v1")
            return run(world, line, OPENAI_API_KEY=CREDENTIAL, **variables)

        shown = done(exits("env"))
        check("OPENAI_API_KEY=sk-proj-" in shown and "NETPROXY_PRIVATE" not in shown, shown)
        equal(exits("exit 7").returncode, 7, "exit status")
        equal(exits("kill -9 $$").returncode, 128 + 9, "exit status after a signal")
        equal(run(world, command(world, "openai", api, "/nowhere"), OPENAI_API_KEY="x").returncode, 127,
              "exit status without a program")


@case
def preset_without_a_key(world):
    with sdk_apis.openai() as api:
        found = run(world, command(world, "openai", api, "true"))
        equal(found.returncode, 78, "exit status")
        check(b"OPENAI_API_KEY" in found.stderr, found.stderr)
        unknown = run(world, [world.netproxy, "exec", "--with", "opnai", "--", "true"])
        equal(unknown.returncode, 64, "exit status of an unknown preset")
        check(b"did you mean 'openai'" in unknown.stderr, unknown.stderr)


# Prints the port of the private instance, and waits.
WAITING = """
import os, sys, time, urllib.parse
print(urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"]).port, flush=True)
time.sleep(60)
"""


@case
def preset_instance_ends(world):
    """The instance ends with its program, and when netproxy is killed; a signal reaches the program."""
    home = world.path(world.unique("home"))
    os.makedirs(home, mode=0o700)
    with sdk_apis.openai() as api:
        for number, expected in (signal.SIGTERM, 128 + 15), (signal.SIGKILL, -9):
            line = command(world, "openai", api, sys.executable, "-c", WAITING, path="/v1")
            environment = clean_environment(HOME=home, TMPDIR=home, XDG_RUNTIME_DIR=home,
                                            OPENAI_API_KEY=CREDENTIAL)
            # A group of their own, so that the program of a killed netproxy ends too.
            child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment,
                                     start_new_session=True)
            port = int(child.stdout.readline())
            check(accepts(port), "the instance does not listen")
            child.send_signal(number)
            equal(child.wait(20), expected, "exit status")
            eventually(lambda: not accepts(port), "the instance ends")
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        done(run_in(world, home, command(world, "openai", api, "true", path="/v1")))
        left = [name for name in os.listdir(home) if name.startswith("netproxy-exec-")]
        equal(left, [], "directories of ended instances")


def run_in(world, home, line, **variables):
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, cwd=home,
                          env=clean_environment(HOME=home, TMPDIR=home, XDG_RUNTIME_DIR=home,
                                                OPENAI_API_KEY=CREDENTIAL, **variables))


@case
def preset_saved(world):
    """A saved channel serves without the variable, through a daemon."""
    other = {"other": {"upstream": "https://other.example"}}
    with sdk_apis.openai() as api, Netproxy(world, other) as proxy:
        proxy.secret_sources.append(api)
        options = ("--save", "--config", proxy.config_path)
        line = command(world, "openai", api, "true", path="/v1", options=options)
        done(run(world, line, OPENAI_API_KEY=CREDENTIAL))
        key = os.path.join(proxy.directory, "openai.key")
        equal(os.stat(key).st_mode & 0o777, 0o600, "mode of the key")
        again = run(world, line, OPENAI_API_KEY=CREDENTIAL)
        equal(again.returncode, 1, "exit status of a second save")
        check(b"already" in again.stderr, again.stderr)
        done(run(world, [world.netproxy, "reload", "--config", proxy.config_path]))
        script = 'curl -sf "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY"'
        found = run(world, [world.netproxy, "exec", "--config", proxy.config_path, "--with", "openai",
                            "--", "sh", "-c", script])
        equal(json.loads(done(found))["data"][0]["id"], "gpt-test", "the daemon's answer")
        equal(proxy.exchange("openai", "/v1/models")["status"], 200, "the daemon's record")
