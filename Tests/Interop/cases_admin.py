"""The functions of the admin socket: why, exec, the live log and reload; and the exit codes of all
commands."""

import itertools
import json
import os
import signal
import subprocess
import sys

from harness import case, check, equal, eventually
from proxy import Netproxy
from traffic import curl


def admin(proxy, path, *arguments):
    socket_path = os.path.join(proxy.directory, "admin.sock")
    return curl(proxy, "--unix-socket", socket_path, *arguments, "http://localhost" + path)


def start(proxy, *arguments, **options):
    return subprocess.Popen([proxy.world.netproxy, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=proxy.environment(), cwd=proxy.directory, **options)


def ran(proxy, *command, channels=()):
    """Runs a program with netproxy exec; returns exit code and output."""
    named = [word for name in channels for word in ("--channel", name)]
    child = start(proxy, "exec", "--config", proxy.config_path, *named, "--", *command)
    try:
        output = child.communicate(timeout=30)[0].decode(errors="replace")
    finally:
        child.kill()
        child.wait(5)
    return child.returncode, output


@case
def why_explains_a_refresh(world):
    client, word = world.auth.register(), world.unique("why")
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        curl(proxy, proxy.url("/orders/" + world.unique("first")))
        world.auth.revoke(client)
        curl(proxy, proxy.url("/orders/" + word), "-H", "X-Request-Id: " + word)
        done = proxy.command("why", word)
        equal(done.returncode, 0, f"exit code ({done.stderr})")
        for part in ("its path begins with /orders", "attempt 1",
                     "status 401", "sent again: unauthorized", "attempt 2",
                     "token generation 2", "renewed for this exchange", "status 200"):
            check(part in done.stdout, f"'{part}' is not in\n{done.stdout}")
        steps = json.loads(proxy.command("why", word, "--json").stdout)
        record = steps["record"]
        equal(record["client_request_id"], word, "the record in the JSON")
        equal(steps["request_id"], record["request_id"], "our id in the JSON")
        done = proxy.command("why", record["request_id"], "--json")
        equal(json.loads(done.stdout), steps, "what is found by our id")
        done = proxy.command("why", "nobody")
        equal(done.returncode, 1, "exit code of an unknown id")
        check("netproxy tail" in done.stderr, f"no advice: {done.stderr}")


@case
def exec_runs_real_clients(world):
    key = world.unique("permanent")
    channel = dict(world.channel("/files"), access={"key": "literal:" + key})
    with Netproxy(world, {"files": channel}) as proxy:
        equal(curl(proxy, proxy.url("/files/hello.txt")).status, 401, "without a key")
        script = ("import os, sys, urllib.request\n"
                  "request = urllib.request.Request(os.environ['NETPROXY_FILES_URL'] + '/hello.txt')\n"
                  "request.add_header('Proxy-Authorization', 'Bearer ' + os.environ['NETPROXY_KEY'])\n"
                  "print(urllib.request.urlopen(request).status)\n")
        code, output = ran(proxy, sys.executable, "-c", script, channels=["files"])
        equal((code, output.strip()), (0, "200"), "urllib with the base URL and the key")
        # Only with the variables: curl reads the key from them, and NO_PROXY does not cover the upstream.
        upstream = channel["upstream"].replace("https://", "http://")
        code, output = ran(proxy, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                           upstream + "/hello.txt")
        equal((code, output), (0, "200"), "curl with http_proxy")
        # The README's line. Debian's curl ignores ports in no_proxy, and requests the proxy's own URL from
        # the proxy in absolute-form.
        for host in ("127.0.0.1", "localhost"):
            line = ('curl -s -w "%{http_code}" -o /dev/null "$NETPROXY_FILES_URL/hello.txt"'
                    ' -H "Proxy-Authorization: Bearer $NETPROXY_KEY"')
            line = f'NETPROXY_FILES_URL=$(echo $NETPROXY_FILES_URL | sed s/127.0.0.1/{host}/); {line}'
            code, output = ran(proxy, "sh", "-c", line, channels=["files"])
            equal((code, output), (0, "200"), f"curl with the base URL at {host} and the key")
        code, output = ran(proxy, "sh", "-c", "echo $NETPROXY_KEY; exit 7")
        equal(code, 7, "exit code of the program")
        answer = curl(proxy, "-H", "Proxy-Authorization: Bearer " + output.strip(),
                      proxy.url("/files/hello.txt"))
        equal(answer.status, 401, "the key after the program has ended")
        equal(ran(proxy, "/nonexistent/program")[0], 127, "a program that does not exist")
        code, output = ran(proxy, "true", channels=["nobody"])
        equal(code, 64, "an unknown channel")
        check("there are: files" in output, f"no advice: {output}")


@case
def exec_sends_signals_on(world):
    with Netproxy(world, {"files": world.channel("/files")}) as proxy:
        child = start(proxy, "exec", "--config", proxy.config_path, "--", "sh", "-c",
                      "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done")
        try:
            equal(child.stdout.readline(), b"ready\n", "the program's first line")
            child.send_signal(signal.SIGTERM)
            equal(child.wait(10), 9, "exit code of the program's own handler")
        finally:
            child.kill()
            child.wait(5)
        for name, code in (("INT", 130), ("TERM", 143), ("HUP", 129)):
            equal(ran(proxy, "sh", "-c", f"kill -{name} $$")[0], code, "of a program ended by " + name)


@case
def the_live_log(world):
    with Netproxy(world, {"files": world.channel("/files")}) as proxy:
        tail = subprocess.Popen(
            ["curl", "-sN", "--max-time", "30", "--unix-socket",
             os.path.join(proxy.directory, "admin.sock"),
             "http://localhost/tail?channel=files&where=status%3E%3D400"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        try:
            # Until the reader starts, nothing is kept for it.
            os.set_blocking(tail.stdout.fileno(), False)

            seen = bytearray()

            def line():
                curl(proxy, proxy.url("/files/hello.txt"))
                curl(proxy, proxy.url("/files/missing.txt"))
                seen.extend(tail.stdout.read() or b"")
                return seen.partition(b"\n")[0] if b"\n" in seen else None

            record = json.loads(eventually(line, "a line of the live log", 10, every=0.1))
            equal((record["channel"], record["status"]), ("files", 404), "channel and status")
            equal(admin(proxy, "/tail?where=nonsense").status, 400, "a wrong condition")
        finally:
            tail.kill()
            tail.wait(5)


@case
def other_formats(world):
    log = {"format": "logfmt"}
    with Netproxy(world, {"files": world.channel("/files")}) as proxy:
        proxy.stop()
        proxy.config["log"].update(log)
        proxy.start()
        curl(proxy, proxy.url("/files/missing.txt"))
        lines = eventually(lambda: os.path.exists(proxy.log_path("files"))
                           and open(proxy.log_path("files"), encoding="utf-8").read(), "a line", 5)
        check(lines.startswith("time=") and " status=404 " in lines, f"no logfmt: {lines}")
        done = proxy.command("tail", "--where", "status>=400")
        check(done.returncode == 0 and "404" in done.stdout, f"tail: {done.stdout}{done.stderr}")
        proxy.config["log"]["format"] = "clf"
        proxy.write_config()
        done = proxy.command("tail")
        equal(done.returncode, 1, "tail of clf")
        check("json and logfmt" in done.stderr, f"no advice: {done.stderr}")


@case
def keys_and_reloads_are_audited(world):
    """Each line names the user, and the records of exchanges with a lent key contain the key's name."""
    with Netproxy(world, {"files": world.channel("/files")}) as proxy:
        done = subprocess.run(
            [world.netproxy, "exec", "--config", proxy.config_path, "--", "sh", "-c",
             'curl -s -o /dev/null "$NETPROXY_FILES_URL/hello.txt" -x "$http_proxy"; '
             'curl -s -o /dev/null -H "Authorization: Bearer $NETPROXY_KEY" "$NETPROXY_FILES_URL/hello.txt?two"'],
            env=proxy.environment(), timeout=30, check=False)
        equal(done.returncode, 0, "exec")
        equal(proxy.command("reload").returncode, 0, "reload")

        def audit():
            said = proxy.command("tail", "netproxy", "--where", "event=audit", "--json")
            lines = [json.loads(line) for line in said.stdout.splitlines()]
            return [line["action"] for line in lines] == ["lend", "end", "reload"] and lines

        lend, end, reload = eventually(audit, "three audit lines")
        equal(lend["client_key"], end["client_key"], "the key that ends")
        for line in (lend, end, reload):
            equal((line["client"], line["client_uid"]), ("unix", os.getuid()), "who")
            check(line["client_pid"] > 1, f"no process: {line}")
        check(lend["client_pid"] != reload["client_pid"], "two commands are two processes")

        def used():
            said = proxy.command("tail", "files", "--where", f"client_key={lend['client_key']}",
                                 "--json")
            return len(said.stdout.splitlines()) == 2

        eventually(used, "two exchanges with the key")


@case
def exit_codes(world):
    with Netproxy(world, {"files": world.channel("/files")}) as proxy:
        good = (("check",), ("status",), ("reload",), ("reload", "--plan"), ("tail",),
                ("token", "files"))
        for words in good:
            equal(proxy.command(*words).returncode, 0, " ".join(words))
        for words in (("check",), ("status",), ("tail",), ("version",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([proxy.world.netproxy, *words], stdout=full,
                                      stderr=subprocess.PIPE, cwd=proxy.directory, timeout=30,
                                      env=dict(proxy.environment(),
                                               NETPROXY_CONFIG=proxy.config_path))
            equal(done.returncode, 1, " ".join(words) + " onto a full disk")
            check(done.stderr.startswith(b"netproxy: standard output: "), f"{done.stderr}")
        done = proxy.command("why")
        equal(done.returncode, 1, "why with nothing to explain")
        for words in (("tial",), ("exec", "sh"), ("status", "--bogus"), ("exec",), ("token", "nobody"),
                      ("login", "nobody"), ("logout", "nobody"),
                      ("tail", "--where", "status+"), ("tail", "--json", "--as", "curl")):
            equal(proxy.command(*words).returncode, 64, " ".join(words))
        done = proxy.command("status", "--config", "", config=False)
        equal(done.returncode, 64, "--config without a path")
        for name in ("init", "run", "check", "demo", "tail", "status", "why", "exec", "reload", "token",
                     "version"):
            done = proxy.command(name, "--help", config=False)
            equal((done.returncode, done.stdout[:9]), (0, "OVERVIEW:"), name + " --help")
        for shell in ("bash", "zsh", "fish"):
            done = proxy.command("--generate-completion-script", shell, config=False)
            check(done.returncode == 0 and "netproxy" in done.stdout, f"completion for {shell}")
        # The request of the script for bash: the completion's key, the word, the position in it, and the
        # typed words.
        asked = (("token", "--", "positional@0", "2"), ("exec", "--", "--channel", "3"))
        home = "~/" + os.path.relpath(proxy.config_path, proxy.directory)
        for words, path in itertools.product(asked, (proxy.config_path, home)):
            done = proxy.command("---completion", *words, "0", "netproxy", "--config", path,
                                 config=False)
            equal(done.stdout.split(), ["files"], f"names of channels for {words[0]} and {path}")
        done = proxy.command("tail", "bogus")
        equal(done.returncode, 64, "tail of a channel that is not there")
        check("there are: files" in done.stderr, f"no advice: {done.stderr}")
        with open(proxy.config_path, "a", encoding="utf-8") as file:
            file.write("wrokers: 1\n")
        done = proxy.command("status")
        equal(done.returncode, 0, f"status of a daemon whose file is broken by now: {done.stderr}")
        check("wrokers" in done.stderr and "files" in done.stdout, f"{done.stderr}{done.stdout}")
        proxy.write_config()
        proxy.stop()
        for words in (("status",), ("reload",), ("why", "x"), ("token", "files")):
            done = proxy.command(*words)
            equal(done.returncode, 69, " ".join(words))
            check("no daemon answers" in done.stderr, f"no advice: {done.stderr}")
        equal(ran(proxy, "true")[0], 69, "exec")
        proxy.write_config("channels: { files: { upstraem: x } }\n")
        for words in (("check",), ("status",), ("reload",), ("why", "x"), ("run",)):
            equal(proxy.command(*words).returncode, 78, " ".join(words))
