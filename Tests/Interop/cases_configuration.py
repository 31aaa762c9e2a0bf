"""The operator's view of the configuration: check, include, the schema, the plan of a reload."""

import json
import os
import re

from harness import Skipped, case, check, equal
from proxy import Netproxy
from traffic import curl
from world import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "config", "netproxy.example.yaml")


def lines_of(done):
    return done.stderr.splitlines()


@case
def check_with_the_permissions_of_another_user(world):
    if os.geteuid() != 0:
        raise Skipped("only root can look as another user")
    proxy = Netproxy(world, {"orders": world.channel("/files")})
    closed = os.path.join(proxy.directory, "closed")
    os.mkdir(closed, 0o700)
    secrets = {name: os.path.join(closed, name) for name in ("key", "token")}
    for path in secrets.values():
        with open(path, "w", encoding="utf-8") as file:
            file.write("c4nary\n")
        os.chmod(path, 0o600)
    proxy.config["channels"]["orders"]["auth"] = {"bearer": "file:" + secrets["token"]}
    proxy.config["channels"]["orders"]["access"] = {"key": "file:" + secrets["key"]}
    proxy.write_config()
    os.makedirs(proxy.log_directory, exist_ok=True)
    for directory in (proxy.directory, proxy.log_directory):
        while directory.startswith(world.directory):
            os.chmod(directory, os.stat(directory).st_mode | 0o005)
            directory = os.path.dirname(directory)
    equal(proxy.command("check").returncode, 0, "root's check")
    done = proxy.command("check", "--user", "nobody")
    equal(done.returncode, 78, f"check as nobody: {done.stderr}")
    check(f"permission denied for user nobody in {closed}; fix: chmod o+x {closed}" in done.stderr,
          f"no advice: {done.stderr}")
    # Apply each proposed fix until there are none.
    for _ in range(4):
        fixes = set(re.findall(r"; fix: (.+)$", done.stderr, re.M))
        if done.returncode == 0:
            break
        check(fixes, f"no fix: {done.stderr}")
        for fix in fixes:
            run(fix.split())
        done = proxy.command("check", "--user", "nobody")
    equal(done.returncode, 0, f"check as nobody after the fixes: {done.stderr}")
    equal(os.stat(secrets["key"]).st_mode & 0o777, 0o600, "the mode of the secret")
    equal(proxy.command("check", "--user", "no-such-user").returncode, 64, "an unknown user")


@case
def included_files_are_read_again(world):
    proxy = Netproxy(world, {"orders": world.channel("/files")}, include=["conf.d/*.yaml"])
    team = os.path.join(proxy.directory, "conf.d", "team.yaml")
    os.mkdir(os.path.dirname(team))

    def write(text):
        with open(team, "w", encoding="utf-8") as file:
            file.write(text)

    channel = json.dumps(world.channel("/files"))
    write(f"channels:\n  team: {channel}\n")
    with proxy:
        equal(curl(proxy, proxy.url("/team/hello.txt")).status, 200, "an included channel")
        write(f"channels:\n  other: {channel}\n")
        equal(proxy.command("reload").returncode, 0, "reload")
        equal(curl(proxy, proxy.url("/other/hello.txt")).status, 200, "the channel after a reload")
        equal(curl(proxy, proxy.url("/team/hello.txt")).status, 404, "the channel before it")
        for text, expected in (
            (f"channels:\n  orders: {channel}\n", f"{team}:2:3: channels.orders: already in "),
            ("channels:\n\tx: {}\n", f"{team}:2:1: a tab"),
            ("listen: 127.0.0.1:1\n", f"{team}:1:1: listen: only the main file may have listen"),
            ("channels: {} #", f"{team}:1:15: the last line has no line end"),
        ):
            write(text)
            done = proxy.command("reload")
            equal(done.returncode, 78, f"reload of {text!r}")
            check(any(line.startswith(expected) for line in lines_of(done)),
                  f"expected {expected}: {done.stderr}")
            equal(curl(proxy, proxy.url("/other/hello.txt")).status, 200, f"after {text!r}")


VALIDATE = """
import json, sys
import jsonschema, yaml

schema, example = json.load(open(sys.argv[1])), yaml.safe_load(open(sys.argv[2]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for fault in validator.iter_errors(example):
    print(f"the example: {list(fault.path)}: {fault.message}")
for text in sys.argv[3:]:
    if validator.is_valid({"channels": {}} | yaml.safe_load(text)):
        print(f"accepted: {text}")
"""


@case
def the_schema_accepts_the_example(world):
    proxy = Netproxy(world, {})
    done = proxy.command("check", "--schema", config=False)
    equal(done.returncode, 0, f"check --schema: {done.stderr}")
    path = os.path.join(proxy.directory, "schema.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    mistakes = ("wrokers: 1", "channels: { a: { upstraem: x } }", "channels: { A: {} }",
                "channels: { a: { auth: { bearer: hunter2 } } }", "drain: 30",
                "channels: { a: { timeouts: { total: 1d } } }", "log: { format: xml }")
    equal(run([world.python, "-c", VALIDATE, path, EXAMPLE, *mistakes]), b"", "what is wrong")


@case
def a_plan_is_key_by_key(world):
    with Netproxy(world, {"orders": world.channel("/files")}) as proxy:
        equal(proxy.command("reload", "--plan").stdout,
              f"nothing would change: {proxy.config_path}\n", "a plan without a change")
        orders = proxy.config["channels"]["orders"]
        orders["timeouts"] = {"total": "30s"}
        orders["headers"] = {"set": {"X-Key": "c4nary"}}
        proxy.config["drain"] = "6s"
        proxy.config["channels"]["more"] = world.channel("/files")
        proxy.write_config()
        equal(proxy.command("reload", "--plan").stdout.splitlines(), [
            "drain: 5s → 6s", "changed: orders",
            "  channels.orders.headers.set.X-Key: added",
            "  channels.orders.timeouts.total: off → 30s", "added: more"], "the plan")
