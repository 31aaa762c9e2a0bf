"""The environment of netproxy: a private CA, nginx with TLS, an authorization server, files."""

import base64
import fcntl
import hashlib
import json
import os
import random
import shutil
import string
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from harness import Child, Failure, Skipped, clean_environment, eventually, free_port

HERE = os.path.dirname(os.path.abspath(__file__))


def run(arguments, seconds=120, **options):
    """Runs a command; fails with its output unless it exits with 0."""
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=seconds, **options)
    except FileNotFoundError:
        raise Failure(f"{arguments[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"{arguments[0]} did not end within {seconds} s") from None
    if done.returncode != 0:
        text = done.stdout.decode(errors="replace")[-2000:]
        raise Failure(f"{' '.join(arguments[:3])} … exited {done.returncode}: {text}")
    return done.stdout


def read_json_lines(path, since=0):
    """Returns the records of a JSON-lines file from a byte offset on; an incomplete line is not read yet."""
    try:
        with open(path, "rb") as file:
            file.seek(since)
            text = file.read()
    except FileNotFoundError:
        return []
    whole = text[: text.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line.strip()]


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def prepared_python():
    """Returns a Python with the pinned packages, built once per requirements file and kept."""
    requirements = os.path.join(HERE, "requirements.txt")
    with open(requirements, "rb") as file:
        key = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()[:12]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parent = os.path.join(cache, "netproxy-interop")
    os.makedirs(parent, exist_ok=True)
    home = os.path.join(parent, "venv-" + key)
    python = os.path.join(home, "bin", "python")
    marker = os.path.join(home, "complete")
    with open(os.path.join(parent, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(marker):
            print(f"installing the pinned packages into {home}", flush=True)
            shutil.rmtree(home, ignore_errors=True)
            environment = clean_environment()
            run([sys.executable, "-m", "venv", home], env=environment)
            run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                 "-r", requirements], seconds=600, env=environment)
            open(marker, "w").close()
    return python


class Client:
    """An OAuth client of the authorization server."""

    def __init__(self, name, client_id, secret, refresh_token=None):
        self.name = name
        self.client_id = client_id
        self.secret = secret
        self.refresh_token = refresh_token


class AuthorizationServer:
    """django-oauth-toolkit under gunicorn: token endpoint, revocation and the protected API."""

    def __init__(self, directory, python):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.token_url = self.base + "/o/token/"
        self.token_log = os.path.join(directory, "tokens.jsonl")
        self.api_log = os.path.join(directory, "api.jsonl")
        self.clients = 0
        self.secrets = set()
        environment = clean_environment(
            AUTH_DATABASE=os.path.join(directory, "auth.sqlite"),
            AUTH_TOKEN_LOG=self.token_log,
            AUTH_API_LOG=self.api_log,
            AUTH_ISSUER=self.base,
            HOME=directory,
            PYTHONDONTWRITEBYTECODE="1",
        )
        module = os.path.join(HERE, "authserver")
        run([python, os.path.join(module, "authserver.py")], env=environment)
        self.process = Child(
            [python, "-m", "gunicorn", "--chdir", module, "--bind", f"127.0.0.1:{self.port}",
             "--workers", "1", "--threads", "16", "--timeout", "60", "--keep-alive", "60",
             "--backlog", "1024", "--no-control-socket", "authserver:application"],
            directory, "gunicorn", environment)
        self.process.wait_for_port(self.port, 30)

    def call(self, method, path, form=None, basic=None):
        """Sends one request to the server itself, without netproxy; returns the decoded response."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method)
        if basic:
            pair = base64.b64encode(f"{basic[0]}:{basic[1]}".encode()).decode()
            request.add_header("Authorization", "Basic " + pair)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as response:
            return json.loads(response.read() or b"{}")

    def register(self, grant="client_credentials"):
        """Registers a new client, with a first refresh token if the grant is `refresh_token`."""
        self.clients += 1
        name = f"app{self.clients}"
        answer = self.call("POST", "/control/clients", {"name": name, "grant": grant})
        client = Client(name, answer["client_id"], answer["client_secret"])
        if grant == "refresh_token":
            answer = self.call(
                "POST", "/o/token/",
                {"grant_type": "password", "username": "alice", "password": "wonderland",
                 "scope": "read write"},
                basic=(client.client_id, client.secret))
            client.refresh_token = answer["refresh_token"]
        pair = f"{client.client_id}:{client.secret}".encode()
        self.secrets |= {client.secret, base64.b64encode(pair).decode()}
        return client

    def live_tokens(self, client):
        return self.call("GET", f"/control/tokens?client={client.name}")["access"]

    def end_grant(self, client):
        """Revokes the client's access tokens at the revocation endpoint (RFC 7009). This server then also
        revokes the refresh token of the same grant."""
        for token in self.live_tokens(client):
            self.call("POST", "/o/revoke_token/",
                      {"token": token, "token_type_hint": "access_token"},
                      basic=(client.client_id, client.secret))

    def revoke(self, client):
        """Revokes the client's access tokens; the grant stays valid."""
        if client.refresh_token:
            self.call("DELETE", f"/control/tokens?client={client.name}")
        else:
            self.end_grant(client)
        if self.live_tokens(client):
            raise Failure("the authorization server kept a token that was revoked")

    def mark(self):
        """Returns a position in the token log; `token_requests` returns later entries."""
        return size_of(self.token_log)

    def token_requests(self, client, since=0):
        return [
            record
            for record in read_json_lines(self.token_log, since)
            if record["endpoint"] == "/o/token/" and record["client"] == client.client_id
        ]

    def api_requests(self, part):
        """Returns the requests to the protected API for URIs that contain the text."""
        return [record for record in read_json_lines(self.api_log) if part in record["uri"]]

    def every_secret(self):
        """Returns client secrets and every token that the server ever issued."""
        found = set(self.secrets)
        for record in read_json_lines(self.token_log):
            for key in ("access_token", "refresh_token", "presented_refresh_token"):
                if record[key]:
                    found.add(record[key])
        return found


class World:
    """Everything except netproxy, in one temporary directory."""

    def __init__(self, netproxy):
        self.netproxy = netproxy
        self.directory = tempfile.mkdtemp(prefix="netproxy-interop-")
        self.serial = 0
        self.nginx = None
        self.auth = None

    def start(self):
        self.python = prepared_python()
        for name in ("files", "git", "dav", "dav-incoming", "body"):
            os.makedirs(os.path.join(self.directory, name))
        self.make_certificates()
        self.make_files()
        self.auth = AuthorizationServer(self.directory, self.python)
        self.start_nginx()

    def stop(self, keep):
        for child in (self.nginx, self.auth and self.auth.process):
            if child:
                child.stop()
        Child.kill_the_rest()
        if keep:
            print(f"kept {self.directory}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def unique(self, word="x"):
        """Returns a word that appears in no other request of this run."""
        self.serial += 1
        return f"{word}-{self.serial}-{random.randrange(1 << 32):08x}"

    def make_certificates(self):
        """Creates a private CA and one leaf for `localhost` and 127.0.0.1."""
        self.ca = self.path("ca.pem")
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=netproxy interop CA", "-keyout", self.path("ca.key"), "-out", self.ca,
             "-addext", "basicConstraints=critical,CA:TRUE",
             "-addext", "keyUsage=critical,keyCertSign"])
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-subj", "/CN=localhost", "-keyout", self.path("server.key"),
             "-out", self.path("server.csr")])
        with open(self.path("leaf.ext"), "w") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n"
                       "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n")
        run(["openssl", "x509", "-req", "-in", self.path("server.csr"), "-CA", self.ca,
             "-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", "2",
             "-extfile", self.path("leaf.ext"), "-out", self.path("server.pem")])

    def make_files(self):
        with open(self.path("files", "hello.txt"), "w") as file:
            file.write("hello from nginx\n")
        with open(self.path("files", "words.txt"), "w") as file:
            file.write("the same words compress very well\n" * 2000)

    def random_file(self, *names, size):
        """Returns a file of random bytes and its SHA-256; created once."""
        path = self.path(*names)
        if not os.path.exists(path):
            with open(path, "wb") as file:
                for offset in range(0, size, 1 << 20):
                    file.write(os.urandom(min(1 << 20, size - offset)))
        return path, sha256_of(path)

    def start_nginx(self):
        self.https_port = free_port()
        with open(os.path.join(HERE, "templates", "nginx.conf"), encoding="utf-8") as file:
            template = string.Template(file.read())
        # nginx's own variables look like the template's; unknown ones stay unchanged.
        text = template.safe_substitute(
            dir=self.directory, https_port=self.https_port, api_port=self.auth.port)
        with open(self.path("nginx.conf"), "w", encoding="utf-8") as file:
            file.write(text)
        self.access_log = self.path("access.jsonl")
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not program:
            raise Failure("nginx is not installed (Debian: nginx-light)")
        self.nginx = Child([program, "-e", self.path("error.log"), "-c", self.path("nginx.conf"),
                            "-p", self.directory], self.directory, "nginx")
        self.nginx.wait_for_port(self.https_port)

    @property
    def origin(self):
        return f"https://127.0.0.1:{self.https_port}"

    def arrived(self, part, count=1):
        """Waits for `count` records of nginx for URIs that contain the text, and returns them."""

        def probe():
            found = [r for r in read_json_lines(self.access_log) if part in r["uri"]]
            return found if len(found) >= count else None

        return eventually(probe, f"nginx logs {count} request(s) for {part}", 5)

    def channel(self, path="", **keys):
        """Returns a channel to nginx over TLS, without a credential. It logs complete queries, by which
        the cases find their exchanges."""
        return {"upstream": self.origin + path, "tls": {"ca": self.ca}, "log": {"query": "full"},
                **keys}

    def oauth_channel(self, client, path="/api", **keys):
        """Returns a channel to the protected API with the client's credential."""
        oauth = {
            "grant": "refresh_token" if client.refresh_token else "client_credentials",
            "token_url": self.auth.token_url,
            "client_id": client.client_id,
            "client_secret": "file:" + self.secret_file(client.secret),
            "scopes": ["read", "write"],
        }
        if client.refresh_token:
            oauth["refresh_token"] = "file:" + self.secret_file(client.refresh_token)
        return self.channel(path, auth={"oauth": oauth}, **keys)

    def secret_file(self, secret):
        path = self.path("secret-" + hashlib.sha256(secret.encode()).hexdigest()[:12])
        with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(secret + "\n")
        return path


def run_alone(netproxy, story):
    """Runs one story in its own world, which is kept if the story fails; returns the exit code."""
    world = World(os.path.abspath(netproxy))
    harm = None
    try:
        story(world)
    except (Failure, Skipped) as failure:
        harm = failure
        print(f"FAIL {failure}")
    finally:
        world.stop(keep=harm is not None)
    return 1 if harm else 0


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
