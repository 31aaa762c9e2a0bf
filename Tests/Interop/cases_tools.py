"""Programs of other authors, through a channel that injects the credential of their server.

git pushes, rclone moves, restic backs up, skopeo copies images and gh queries GitHub. The servers that
require the credential are the real ones if Debian packages them.
"""

import hashlib
import json
import os

import sdk_apis
from cases_clients import program
from cases_sdks import daemon, finished
from guarded import PLACEHOLDER, GuardedAPI, basic, git_repositories, server_behind
from harness import Child, case, check, clean_environment, equal, free_port
from world import run

KEY = "key-of-the-channel"
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def hosting(world):
    """A host of git repositories with an empty one, `acme/app.git`."""
    root = world.path(world.unique("hosting"))
    bare = os.path.join(root, "acme", "app.git")
    environment = clean_environment(HOME=root, **GIT)
    run([program("git"), "init", "-q", "--bare", "-b", "main", bare], env=environment)
    run(["git", "-C", bare, "config", "http.receivepack", "true"], env=environment)
    return GuardedAPI(basic("x-access-token"), git_repositories(root)), bare


def commit(proxy, copy, name, content):
    write(os.path.join(proxy.directory, copy, name), content)
    for words in (["add", "."], ["commit", "-q", "-m", f"Add {name}"]):
        finished(["git", "-C", copy, *words], proxy.directory, **GIT)


@case
def client_git_push(world):
    """Clones and pushes; one push exceeds the size that git sends with a length."""
    host, bare = hosting(world)
    with host, daemon(world, host, {"github": host.channel()}) as proxy:
        def git(*words):
            instead = f"url.{proxy.url('/github/')}.insteadOf=https://github.com/"
            return finished(["git", "-c", instead, *words], proxy.directory, **GIT)

        git("clone", "-q", "https://github.com/acme/app.git", "first")
        for number, size in enumerate((100, 3 << 20)):
            commit(proxy, "first", f"file-{number}", os.urandom(size))
            git("-C", "first", "push", "-q", "origin", "main")
        git("clone", "-q", "https://github.com/acme/app.git", "second")
        head = run(["git", "-C", bare, "rev-parse", "main"])
        equal(finished(["git", "-C", "second", "rev-parse", "HEAD"], proxy.directory).encode(),
              head, "HEAD of the second clone")
        # Also with netproxy as its proxy, with the host's own URL and a user that the credential replaces.
        url = f"http://app:{PLACEHOLDER}@{host.authority}/acme/app.git"
        finished(["git", "-c", "http.proxy=" + proxy.url(""), "clone", "-q", url, "third"],
                 proxy.directory, **GIT)
        finished(["git", "-C", "third", "fsck", "--full"], proxy.directory, **GIT)
        pushes = host.seen("POST", "/acme/app.git/git-receive-pack")
        check(any(each.get("Transfer-Encoding") for each in pushes), "no push came in chunks")
        host.check("POST /acme/app.git/git-upload-pack")


def keyed(api, path="", **keys):
    return api.channel(path, access={"key": "literal:" + KEY}, **keys)


@case
def client_git_shows_its_key_when_it_is_asked(world):
    """git sends a password only after a 401."""
    host, _ = hosting(world)
    with host, daemon(world, host, {"github": keyed(host)}) as proxy:
        url = f"http://app:{KEY}@127.0.0.1:{proxy.port}/github/acme/app.git"
        finished(["git", "clone", "-q", url, "copy"], proxy.directory, **GIT)
        commit(proxy, "copy", "file", b"content")
        finished(["git", "-C", "copy", "push", "-q", "origin", "HEAD:main"], proxy.directory,
                 **GIT)
        host.check("POST /acme/app.git/git-receive-pack")


class Served(GuardedAPI):
    """A server of other authors that requires a credential of the test."""

    def __init__(self, world, auth, command):
        """Creates a server; `command` returns the words that start it with a port and an empty directory."""
        port, directory = free_port(), world.path(world.unique("served"))
        self.files = os.path.join(directory, "files")
        os.makedirs(self.files)
        words = command(port, directory)
        self.process = Child([program(words[0]), *words[1:]], directory, words[0],
                             clean_environment(HOME=directory))
        self.process.wait_for_port(port)
        super().__init__(auth, server_behind(port))

    def __exit__(self, *details):
        super().__exit__(*details)
        self.process.stop()


def rclone_serving(kind):
    return lambda port, directory: ["rclone", "serve", kind, "--addr", f"127.0.0.1:{port}",
                                    os.path.join(directory, "files")]


def rclone(proxy, *words, url, **variables):
    return finished(["rclone", "--retries", "1", "--webdav-url", url, *words], proxy.directory,
                    RCLONE_WEBDAV_VENDOR="other", **variables)


@case
def client_rclone(world):
    """Copy, list, move and delete; the target of a move is the URL that rclone knows.

    A list contains the paths of files at the server, and rclone skips paths that are not below its own, so
    the channel also has a listener without a prefix."""
    program("rclone")
    port = free_port()
    with Served(world, basic("app"), rclone_serving("webdav")) as server:
        channel = server.channel(match={"listen": f"127.0.0.1:{port}"})
        with daemon(world, server, {"dav": channel}) as proxy:
            prefixed, url = proxy.url("/dav"), f"http://127.0.0.1:{port}"
            content = os.urandom(300_000)
            write(os.path.join(proxy.directory, "a file.bin"), content)
            rclone(proxy, "copyto", "a file.bin", ":webdav:inbox/a file.bin", url=prefixed)
            rclone(proxy, "moveto", ":webdav:inbox/a file.bin", ":webdav:done/b ü.bin",
                   url=prefixed)
            rclone(proxy, "copyto", ":webdav:done/b ü.bin", ":webdav:done/c.bin", url=prefixed)
            rclone(proxy, "moveto", ":webdav:done", ":webdav:old", url=url)
            equal(rclone(proxy, "lsf", "-R", "--files-only", ":webdav:", url=url).splitlines(),
                  ["old/b ü.bin", "old/c.bin"], "files")
            rclone(proxy, "copyto", ":webdav:old/c.bin", "back.bin", url=url)
            with open(os.path.join(proxy.directory, "back.bin"), "rb") as file:
                check(file.read() == content, "what came back is not what went")
            rclone(proxy, "deletefile", ":webdav:old/c.bin", url=prefixed)
            for each in server.seen("MOVE", "/inbox/a%20file.bin"):
                equal(each.get("Destination"), server.base + "/done/b%20%C3%BC.bin", "Destination")
            server.check("PUT /inbox/a%20file.bin", "MOVE /inbox/a%20file.bin",
                         "DELETE /old/c.bin")


@case
def client_rclone_with_its_own_password(world):
    """rclone sends its password with the first request; here the password is the key of the channel."""
    program("rclone")
    with (Served(world, basic("app"), rclone_serving("webdav")) as server,
          daemon(world, server, {"dav": keyed(server)}) as proxy):
        rclone(proxy, "lsf", ":webdav:", url=proxy.url("/dav"), RCLONE_WEBDAV_BEARER_TOKEN=KEY)
        obscured = finished(["rclone", "obscure", KEY], proxy.directory).strip()
        rclone(proxy, "mkdir", ":webdav:new", url=proxy.url("/dav"), RCLONE_WEBDAV_USER="app",
               RCLONE_WEBDAV_PASS=obscured)
        server.check("MKCOL /new/")


@case
def client_restic(world):
    """A backup and its restore; and a repository that requires the channel's key."""
    program("restic")
    with Served(world, basic("app"), rclone_serving("restic")) as server:
        channels = {"backup": server.channel("/open"), "closed": keyed(server, "/closed")}
        with daemon(world, server, channels) as proxy:
            def restic(place, *words):
                return finished(["restic", "-q", "-r", f"rest:http://{place}/", *words],
                                proxy.directory, RESTIC_PASSWORD="of the repository")

            write(os.path.join(proxy.directory, "data", "file"), os.urandom(2_000_000))
            place = f"127.0.0.1:{proxy.port}"
            restic(place + "/backup", "init")
            restic(place + "/backup", "backup", "data")
            restic(place + "/backup", "restore", "latest", "--target", "back")
            run(["diff", "-r", os.path.join(proxy.directory, "data"),
                 os.path.join(proxy.directory, "back", "data")])
            restic(f"app:{KEY}@{place}/closed", "init")
            server.check("GET /open/config", "POST /closed/config")


REGISTRY = """version: 0.1
log: {{ level: warn }}
storage: {{ filesystem: {{ rootdirectory: "{directory}" }} }}
http: {{ addr: "127.0.0.1:{port}" }}
"""


def registry(port, directory):
    config = os.path.join(directory, "registry.yml")
    write(config, REGISTRY.format(port=port, directory=directory).encode())
    return ["docker-registry", "serve", config]


def blob(directory, content):
    """Stores the content in an image layout; returns its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    write(os.path.join(directory, "blobs", "sha256", digest), content)
    return {"digest": "sha256:" + digest, "size": len(content)}


def image(directory):
    """Creates an OCI image of one layer, which is not an archive because it is never unpacked."""
    kind = "application/vnd.oci.image."
    layer = blob(directory, os.urandom(400_000))
    config = blob(directory, json.dumps({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode())
    manifest = blob(directory, json.dumps({
        "schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
        "config": {"mediaType": kind + "config.v1+json", **config},
        "layers": [{"mediaType": kind + "layer.v1.tar", **layer}]}).encode())
    write(os.path.join(directory, "oci-layout"), b'{"imageLayoutVersion":"1.0.0"}')
    write(os.path.join(directory, "index.json"), json.dumps({
        "schemaVersion": 2, "manifests": [{"mediaType": kind + "manifest.v1+json", **manifest,
        "annotations": {"org.opencontainers.image.ref.name": "1"}}]}).encode())
    return manifest["digest"]


def images(world, rewrite, key=None):
    """Copies an image to a registry and inspects it there. The registry returns the upload location as an
    absolute URL with the received Host."""
    program("skopeo")
    port = free_port()
    with Served(world, basic("app"), registry) as server:
        channel = server.channel(match={"listen": f"127.0.0.1:{port}"}, **rewrite)
        if key:
            channel["access"] = {"key": "literal:" + key}
        with daemon(world, server, {"registry": channel}) as proxy:
            def skopeo(command, *words, side=""):
                who = [f"--{side}creds", f"app:{key}"] if key else []
                return finished(["skopeo", command, f"--{side}tls-verify=false", *who, *words],
                                proxy.directory)

            digest = image(os.path.join(proxy.directory, "layout"))
            there = f"docker://127.0.0.1:{port}/acme/app:1"
            skopeo("copy", "--preserve-digests", "oci:layout:1", there, side="dest-")
            equal(json.loads(skopeo("inspect", there))["Digest"], digest, "digest")
            skopeo("copy", there, "dir:back", side="src-")
            server.check("PUT /v2/acme/app/manifests/1", "GET /v2/acme/app/manifests/1")


@case
def client_skopeo(world):
    images(world, {"rewrite": True})


@case
def client_skopeo_shows_its_key_when_it_is_asked(world):
    """skopeo sends a password only after a 401."""
    images(world, {"rewrite": True}, key=KEY)


@case
def client_gh(world):
    """Over a unix socket: REST, GraphQL, paging and an upload to the second host."""
    gh = program("gh")
    with sdk_apis.github() as api:
        channels = {"github": api.channel(match={"hosts": ["api.github.com"]}),
                    "uploads": api.channel(match={"hosts": ["uploads.github.com"]})}
        proxy = daemon(world, api, channels)
        socket = os.path.join(proxy.directory, "gh.sock")
        proxy.config["listen"].append("unix:" + socket)
        with proxy:
            def ask(*words):
                return finished([gh, *words], proxy.directory, GH_TOKEN=PLACEHOLDER,
                                GH_NO_UPDATE_NOTIFIER="1", GH_PROMPT_DISABLED="1")

            ask("config", "set", "http_unix_socket", socket)
            equal(json.loads(ask("api", "user"))["login"], "ada", "login")
            query = "query=query { viewer { login } }"
            equal(json.loads(ask("api", "graphql", "-f", query))["data"]["viewer"]["login"],
                  "ada", "login by GraphQL")
            pages = ask("api", "--paginate", "repos/acme/app/issues", "--jq", ".[].number")
            equal(pages.split(), ["1", "2"], "issues of both pages")
            write(os.path.join(proxy.directory, "app.bin"), os.urandom(200_000))
            ask("release", "upload", "v1", "app.bin", "-R", "acme/app")
            uploaded = api.seen("POST", "/repos/acme/app/releases/1/assets")
            equal([len(each.body) for each in uploaded], [200_000], "uploads")
            api.check("GET /user", "POST /graphql", "GET /repositories/1/issues")
