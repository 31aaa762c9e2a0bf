"""Runs the guide's recipes: channel and command of each row are read from the file.

Only the hosts, ports, paths and secrets that a reader would replace are replaced.
"""

import io
import json
import os
import re
import zipfile

import sdk_apis
from cases_clients import program
from cases_readme import typed
from cases_readme import GUIDE
from cases_tools import GIT, Served, hosting, image, rclone_serving, registry, write
from guarded import CREDENTIAL, Reply, basic
from harness import case, check, equal, free_port
from proxy import Netproxy, to_yaml
from world import HERE

TRIED = set()


def rows():
    """Returns the guide's table of recipes: client -> (channel, command)."""
    with open(os.path.join(HERE, "..", "..", GUIDE, "Recipes.md"), encoding="utf-8") as file:
        section = file.read()
    found = re.findall(r"^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \|$", section, re.M)
    return {client: (channel, command) for client, channel, command in found}


def recipe(function):
    """Registers a case for the row of a client, which is the function's name without `recipe_`."""
    TRIED.add(function.__name__.removeprefix("recipe_").replace("_", "-"))
    return case(function)


class Recipe(Netproxy):
    """netproxy with the channel of one row, and the row's command with the same replacements."""

    def __init__(self, world, client, api, keyed=True):
        """Creates a recipe; with `keyed` the channel requires the key that `netproxy exec` lends."""
        super().__init__(world, {})
        self.secret_sources.append(api)
        channel, self.line = rows()[client]
        self.replaced = {":8080": f":{self.port}", "/run/netproxy": self.directory}
        for port in re.findall(r"127\.0\.0\.1(:\d+)", channel):
            self.replaced.setdefault(port, f":{free_port()}")
        channel = re.sub(r"\bSECRET\b", f'"literal:{CREDENTIAL}"', self.local(channel))
        channel = re.sub(r"upstream: https://[^/, ]+", f"upstream: {api.base}", channel)
        del self.config["channels"]
        if keyed and "netproxy exec" in self.line:
            self.config["defaults"] = {"access": {"key": "literal:only-the-owner"}}
        self.text = f"{to_yaml(self.config)}\nchannels:\n  {channel}\n"

    def local(self, text):
        for there, here in self.replaced.items():
            text = text.replace(there, here)
        return text

    def write_config(self, text=None):
        super().write_config(text or self.text)

    def program(self, name, command):
        """Creates a program that precedes others in the command's PATH."""
        path = os.path.join(self.directory, "bin", name)
        write(path, f'#!/bin/sh\nexec {command} "$@"\n'.encode())
        os.chmod(path, 0o755)

    def type(self, **variables):
        return typed(self, ["sh", "-c", self.local(self.line)], seconds=20, **variables)


def app(world, client, api, *arrived, **options):
    """Registers a recipe whose command runs a Python client."""
    with api, Recipe(world, client, api, **options) as proxy:
        places = os.path.join(HERE, "clients")
        write(os.path.join(proxy.directory, "app.py"),
              f"import sys\nsys.path.insert(0, {places!r})\nimport sdks\n"
              f"sdks.main({client!r})\n".encode())
        proxy.program("python3", world.python)
        equal(proxy.type().strip(), "ok", "the app's output")
        api.check(*arrived)


@recipe
def recipe_openai(world):
    app(world, "openai", sdk_apis.openai(), "GET /v1/models", "POST /v1/files")


@recipe
def recipe_anthropic(world):
    app(world, "anthropic", sdk_apis.anthropic(), "POST /v1/messages", "GET /v1/models")


@recipe
def recipe_google_genai(world):
    app(world, "google-genai", sdk_apis.google_genai(), "GET /v1/models",
        # Uploads send no key, because the URL authorizes them.
        "POST /upload/v1/files", keyed=False)


@recipe
def recipe_stripe(world):
    app(world, "stripe", sdk_apis.stripe(), "GET /v1/customers", "POST /v1/customers")


@recipe
def recipe_slack_sdk(world):
    app(world, "slack_sdk", sdk_apis.slack(), "POST /api/chat.postMessage")


@recipe
def recipe_hvac(world):
    app(world, "hvac", sdk_apis.vault(), "LIST /v1/secret/metadata/app")


@recipe
def recipe_kubernetes(world):
    app(world, "kubernetes", sdk_apis.kubernetes(),
        "GET /api/v1/namespaces/default/pods/web/exec")


@recipe
def recipe_node(world):
    program("node")
    with sdk_apis.openai() as api, Recipe(world, "node", api) as proxy:
        os.symlink(os.path.join(HERE, "clients", "node_api.mjs"),
                   os.path.join(proxy.directory, "app.mjs"))
        equal(proxy.type().strip(), "ok", "the app's output")
        api.check("GET /v1/models", "POST /v1/files")


@recipe
def recipe_git(world):
    host, _ = hosting(world)
    with host, Recipe(world, "git", host) as proxy:
        proxy.type(**GIT)
        check(os.path.isdir(os.path.join(proxy.directory, "app", ".git")), "nothing was cloned")
        host.check("GET /acme/app.git/info/refs")


@recipe
def recipe_rclone(world):
    program("rclone")
    with Served(world, basic("app"), rclone_serving("webdav")) as server:
        folder = os.path.join(server.files, "remote.php", "webdav")
        write(os.path.join(folder, "inbox", "a.txt"), b"content")
        with Recipe(world, "rclone", server) as proxy:
            proxy.type()
        equal(os.listdir(os.path.join(folder, "done")), ["a.txt"], "what was moved")
        check(any(each.method == "MOVE" for each in server.requests), "nothing was moved there")
        server.check()


@recipe
def recipe_pip(world):
    """The index contains its own links to the listed files."""
    name, wheel = "app-1-py3-none-any.whl", io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("app-1.dist-info/METADATA",
                         "Metadata-Version: 2.1\nName: app\nVersion: 1\n")
        archive.writestr("app-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("app-1.dist-info/RECORD", "")
    index = f'<!DOCTYPE html><a href="../../packages/{name}">{name}</a>'.encode()
    with sdk_apis.API(basic("app"), {
            "GET /simple/app/": lambda *_: Reply(index, fields=[("Content-Type", "text/html")]),
            f"GET /packages/{name}": lambda *_: Reply(wheel.getvalue())}) as api:
        with Recipe(world, "pip", api) as proxy:
            proxy.program("pip", f"{world.python} -m pip --disable-pip-version-check")
            proxy.type(PIP_NO_CACHE_DIR="1")
            check(os.path.exists(os.path.join(proxy.directory, name)), "nothing was downloaded")
        api.check("GET /simple/app/")


@recipe
def recipe_restic(world):
    program("restic")
    with Served(world, basic("app"), rclone_serving("restic")) as server:
        with Recipe(world, "restic", server) as proxy:
            proxy.type(RESTIC_PASSWORD="of the repository")
        server.check("POST /config")


@recipe
def recipe_skopeo(world):
    program("skopeo")
    with Served(world, basic("app"), registry) as server:
        with Recipe(world, "skopeo", server) as proxy:
            image(os.path.join(proxy.directory, "layout"))
            proxy.type()
        server.check("PUT /v2/acme/app/manifests/1")


@recipe
def recipe_gh(world):
    program("gh")
    with sdk_apis.github() as api, Recipe(world, "gh", api) as proxy:
        equal(json.loads(proxy.type())["login"], "ada", "login")
        api.check("GET /user")


@case
def recipes_are_all_tried(_):
    equal(set(rows()), {name.replace("slack-sdk", "slack_sdk") for name in TRIED},
          "clients in the guide's table")
