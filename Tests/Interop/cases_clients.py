"""HTTP clients of other authors, each through the path prefix and with netproxy as a forward proxy."""

import os
import shutil
import subprocess

from harness import Skipped, case, check, clean_environment, equal
from proxy import Netproxy
from traffic import Relay
from world import HERE, run


def program(name):
    """Returns the path of a program, or skips the case."""
    found = shutil.which(name)
    if not found:
        raise Skipped(f"{name} is not installed")
    return found


def run_client(world, command, modes=("base", "forward"), connections=2):
    """Runs `command MODE URL PROXY` through a daemon with a valid credential, and once more with a token
    that was revoked in between. `connections` is the maximum number of client connections."""
    client = world.auth.register()
    with Netproxy(world, {"orders": world.oauth_channel(client)}) as proxy:
        for mode in modes:
            for revoked in (False, True):
                if revoked:
                    world.auth.revoke(client)
                mark, word = world.auth.mark(), world.unique("client")
                with Relay(proxy.port) as relay:
                    near = f"http://127.0.0.1:{relay.port}"
                    url = (f"http://127.0.0.1:{world.https_port}/api/{word}"
                           if mode == "forward" else f"{near}/orders/{word}")
                    finished(command + [mode, url, near], f"{mode}, token revoked: {revoked}")
                    check(1 <= relay.connections <= connections,
                          f"{mode}: the app opened {relay.connections} connections")
                if revoked:
                    equal(len(world.auth.token_requests(client, mark)), 1, "token requests")
                for seen in world.arrived(word, 5):
                    equal(seen["proxy_connection"], "", "Proxy-Connection that arrived")
                    check("pgrade" not in seen["connection_field"],
                          f"Connection that arrived: {seen['connection_field']}")


def finished(command, what):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, env=clean_environment())
    except subprocess.TimeoutExpired:
        check(False, f"{what}: the client did not end within 60 s")
    text = (done.stdout + done.stderr).decode(errors="replace").strip()
    check(done.returncode == 0 and done.stdout.strip() == b"ok",
          f"{what}: exit {done.returncode}: {text[-600:]}")


def python_client(world, library, **options):
    run_client(world, [world.python, os.path.join(HERE, "clients", "python_clients.py"), library],
               **options)


@case
def client_python_http_client(world):
    python_client(world, "http.client", connections=1)


@case
def client_requests(world):
    python_client(world, "requests")


@case
def client_httpx(world):
    python_client(world, "httpx")


@case
def client_aiohttp(world):
    python_client(world, "aiohttp")


@case
def client_node_fetch(world):
    node = program("node")
    # Node 20's fetch does not support forward proxies.
    run_client(world, [node, os.path.join(HERE, "clients", "node_clients.mjs"), "fetch"],
               modes=("base",))


@case
def client_node_http(world):
    run_client(world,
               [program("node"), os.path.join(HERE, "clients", "node_clients.mjs"), "http"],
               connections=1)


def java_client(world, version):
    java = program("java")
    program("javac")
    classes = world.path("java")
    if not os.path.exists(classes):
        run(["javac", "-d", classes, os.path.join(HERE, "clients", "JavaClient.java")])
    run_client(world, [java, "-XX:TieredStopAtLevel=1", "-cp", classes, "JavaClient", version])


@case
def client_java(world):
    """The JDK's HttpClient with its defaults requests an upgrade to h2c."""
    java_client(world, "default")


@case
def client_java_http1(world):
    java_client(world, "http1")


@case
def client_wget(world):
    wget = program("wget")
    with Netproxy(world, {"static": world.channel("/files")}) as proxy:
        targets = [(proxy.url("/static/hello.txt"), {}),
                   (f"http://127.0.0.1:{world.https_port}/files/hello.txt",
                    {"http_proxy": proxy.url("")})]
        for url, variables in targets:
            done = subprocess.run(
                [wget, "--no-config", "-q", "-O", "-", "--tries=1", "--timeout=10", url, url],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=30, env=clean_environment(**variables))
            equal(done.stdout, b"hello from nginx\n" * 2, f"wget {url} ({done.stderr[-200:]})")


@case
def client_git_clone(world):
    """Clones over plain HTTP from nginx, by base URL and with http.proxy."""
    git = program("git")
    environment = clean_environment(
        HOME=world.directory, GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0",
        GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.com",
        GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@example.com")
    bare = world.path("git", "sample.git")
    if not os.path.exists(bare):
        work = world.path("git-work")
        run([git, "init", "-q", "-b", "main", work], env=environment)
        for number in range(20):
            with open(os.path.join(work, f"file-{number}"), "wb") as file:
                file.write(os.urandom(20000))
            run([git, "-C", work, "add", "."], env=environment)
            run([git, "-C", work, "commit", "-q", "-m", f"Add {number}"], env=environment)
        run([git, "clone", "-q", "--bare", work, bare], env=environment)
        run([git, "-C", bare, "update-server-info"], env=environment)
    head = run([git, "-C", bare, "rev-parse", "main"], env=environment)
    with Netproxy(world, {"git": world.channel("/git")}) as proxy:
        ways = [["clone", "-q", proxy.url("/git/sample.git")],
                ["-c", "http.proxy=" + proxy.url(""), "clone", "-q",
                 f"http://127.0.0.1:{world.https_port}/git/sample.git"]]
        for number, way in enumerate(ways):
            copy = os.path.join(proxy.directory, f"copy-{number}")
            run([git, *way, copy], seconds=60, env=environment)
            equal(run([git, "-C", copy, "rev-parse", "HEAD"], env=environment), head, "HEAD")
            run([git, "-C", copy, "fsck", "--full"], env=environment)
