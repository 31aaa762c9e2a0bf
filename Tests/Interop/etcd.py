"""A cluster of etcd members in their own processes, with functions for all kinds of faults."""

import base64
import http.client
import json
import os
import shutil
import signal
import ssl

from harness import Child, Failure, Skipped, check, eventually, free_port
from relay import Valve, owner_of
from world import run

ROOT, ROOT_PASSWORD = "root", "the-password-of-root"


def encoded(text):
    """Encodes bytes or text as in etcd's JSON."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def decoded(text):
    return base64.b64decode(text)


def end_of(prefix):
    """Returns the end of the range of all keys with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class Certificates:
    """A CA, a certificate for all members and one for their clients."""

    def __init__(self, world, addresses):
        self.directory = world.path(world.unique("etcd-tls"))
        os.mkdir(self.directory, mode=0o700)
        self.ca, self.ca_key = self.path("ca.pem"), self.path("ca.key")
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=etcd CA",
             "-keyout", self.ca_key, "-out", self.ca,
             "-addext", "basicConstraints=critical,CA:TRUE",
             "-addext", "keyUsage=critical,keyCertSign"])
        names = ",".join(f"IP:{each}" for each in sorted({"127.0.0.1", *addresses}))
        # The JSON gateway is a client of its own member, with the member's certificate.
        self.server = self.issue("server", "/CN=etcd",
                                 f"subjectAltName=DNS:localhost,{names}\n"
                                 "extendedKeyUsage=serverAuth,clientAuth\n")
        # With users enabled, the gateway refuses a certificate with a common name.
        self.client = self.issue("client", "/O=netproxy", "extendedKeyUsage=clientAuth\n")

    def path(self, name):
        return os.path.join(self.directory, name)

    def issue(self, name, subject, extensions):
        """Issues a certificate with its key."""
        request, certificate, key = (self.path(name + end) for end in (".csr", ".pem", ".key"))
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-subj", subject, "-keyout", key, "-out", request])
        with open(self.path("extensions"), "w", encoding="ascii") as file:
            file.write("basicConstraints=critical,CA:FALSE\n" + extensions)
        run(["openssl", "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.ca_key,
             "-CAcreateserial", "-days", "2", "-extfile", self.path("extensions"),
             "-out", certificate])
        return certificate, key

    def context(self):
        context = ssl.create_default_context(cafile=self.ca)
        context.load_cert_chain(*self.client)
        return context


class Refused(Exception):
    """A response of etcd with a status other than 200."""

    def is_passing(self):
        """Whether another member, or the same one a moment later, could process the request."""
        return any(words in str(self) for words in ("leader changed", "no leader", "timed out"))


class Member:
    """One member: its addresses and its process."""

    def __init__(self, name, directory, place=None):
        self.name, self.place = name, place
        self.address = place.address if place else "127.0.0.1"
        self.port, self.peer_port = free_port(), free_port()
        self.advertised_peer = (self.address, self.peer_port)
        self.data = os.path.join(directory, name)
        self.child = None

    @property
    def pid(self):
        return self.child.pid if self.child else None

    @property
    def is_up(self):
        return self.child is not None and self.child.running()


class Cluster:
    """Members with one data directory each, in the world's directory.

    With `relays` the members reach each other through relays, so that `isolate` can disconnect one of them.
    With `places` each member runs in a network namespace, and `isolate` works there.
    """

    def __init__(self, world, members=3, tls=True, quota=None, relays=None, places=(), flags=()):
        if not shutil.which("etcd"):
            raise Skipped("etcd is not installed (Debian: etcd-server)")
        self.world, self.tls, self.quota, self.relays = world, tls, quota, relays
        self.flags = list(flags)
        self.directory = world.path(world.unique("etcd"))
        os.mkdir(self.directory, mode=0o700)
        places = list(places) or [None] * members
        self.members = [Member(f"m{number}", self.directory, place)
                        for number, place in enumerate(places, 1)]
        self.certificates = None
        if tls:
            self.certificates = Certificates(world, [each.address for each in self.members])
        self.token = None
        if relays:
            self.valves = {member.name: Valve(relays) for member in self.members}
            for member in self.members:
                self.relay_peers_of(member)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # Processes.

    @property
    def scheme(self):
        return "https" if self.tls else "http"

    def url(self, member):
        return f"{self.scheme}://{member.address}:{member.port}"

    @property
    def endpoints(self):
        return [self.url(member) for member in self.members]

    def start(self, *members):
        """Starts members, by default those that are not running, and waits until the cluster works."""
        started = [each for each in members or self.members if not each.is_up]
        for member in started:
            member.child = Child(self.command(member), self.directory, member.name)
        for member in started:
            eventually(lambda: self.is_healthy(member), f"{member.name} works", 30, 0.05)

    def command(self, member):
        client, peer = self.url(member), f"http://{member.address}:{member.peer_port}"
        cluster = ",".join("{}=http://{}:{}".format(each.name, *each.advertised_peer)
                           for each in self.members)
        command = [
            "etcd", "--name", member.name, "--data-dir", member.data,
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", "http://{}:{}".format(*member.advertised_peer),
            "--initial-cluster", cluster, "--initial-cluster-token", self.directory,
            "--heartbeat-interval", "50", "--election-timeout", "500",
            # A simple hash: passwords are not the subject of the test.
            "--bcrypt-cost", "4", "--logger", "zap", "--log-level", "warn", *self.flags,
        ]
        if self.tls:
            command += ["--cert-file", self.certificates.server[0],
                        "--key-file", self.certificates.server[1], "--client-cert-auth",
                        "--trusted-ca-file", self.certificates.ca]
        if self.quota:
            command += ["--quota-backend-bytes", str(self.quota)]
        return (member.place.prefix if member.place else []) + command

    def is_healthy(self, member):
        """Whether the member knows a leader and can commit; fails if its process has ended."""
        if not member.child.running():
            tail = "\n".join(member.child.stderr().splitlines()[-10:])
            raise Failure(f"{member.name} ended with {member.child.process.returncode}: {tail}")
        try:
            return self.exchange(member, "GET", "/health", None, 0.5).get("health") == "true"
        except (OSError, http.client.HTTPException, Refused):
            return False

    def stop(self):
        for member in self.members:
            if member.is_up:
                member.child.signal(signal.SIGCONT)
                member.child.signal(signal.SIGKILL)
        for member in self.members:
            if member.child:
                member.child.wait(10)

    def kill(self, *members):
        """Sends SIGKILL and waits for the end."""
        for member in members:
            member.child.signal(signal.SIGKILL)
            member.child.wait(10)

    def pause(self, member):
        member.child.signal(signal.SIGSTOP)

    def resume(self, member):
        member.child.signal(signal.SIGCONT)

    # Connections between the members.

    def relay_peers_of(self, member):
        def valve_of(port):
            names = {each.pid: each.name for each in self.members if each.is_up}
            return self.valves.get(names.get(owner_of(port, names)))

        relay = self.relays.add(member.address, member.peer_port, self.valves[member.name],
                                valve_of)
        member.advertised_peer = ("127.0.0.1", relay.port)

    def isolate(self, member):
        """Disconnects the member from the other members, but not from its clients."""
        if member.place:
            member.place.cut(each.address for each in self.members if each is not member)
        else:
            self.valves[member.name].cut()

    def rejoin(self, member):
        if member.place:
            member.place.heal()
        else:
            self.valves[member.name].heal()

    # The JSON gateway.

    def exchange(self, member, method, path, document, seconds):
        """Sends one request to one member; returns the decoded response."""
        if self.tls:
            connection = http.client.HTTPSConnection(
                member.address, member.port, timeout=seconds, context=self.certificates.context())
        else:
            connection = http.client.HTTPConnection(member.address, member.port, timeout=seconds)
        fields = {"Authorization": self.token} if self.token else {}
        try:
            content = None if document is None else json.dumps(document)
            connection.request(method, path, content, fields)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status == 200 or path == "/health":
            return json.loads(text)
        raise Refused(text.decode(errors="replace"))

    def call(self, path, document, member=None, seconds=5):
        """Returns the response of the member, or of the first member that responds."""
        fault = None
        for each in [member] if member else [each for each in self.members if each.is_up]:
            try:
                return self.exchange(each, "POST", "/v3/" + path, document, seconds)
            except (OSError, http.client.HTTPException) as error:
                fault = error
            except Refused as refusal:
                if not refusal.is_passing():
                    raise
                fault = refusal
        raise Failure(f"no member answers /v3/{path}: {fault}")

    def status(self, member):
        """Returns the member's own status; `None` if it does not respond."""
        try:
            return self.call("maintenance/status", {}, member, 2)
        except (Failure, Refused):
            return None

    def leader(self):
        """Waits for a leader that knows its role, and returns it."""
        def probe():
            for member in self.members:
                status = self.status(member) if member.is_up else None
                if status and status.get("leader") == status["header"]["member_id"]:
                    return member
            return None

        return eventually(probe, "the cluster has a leader", 20, 0.05)

    def move_leader(self):
        """Transfers the leadership to another running member; returns that member."""
        old = self.leader()
        heirs = [each for each in self.members if each is not old and each.is_up]
        heir, status = next((each, status) for each in heirs if (status := self.status(each)))
        self.call("maintenance/transfer-leadership",
                  {"targetID": status["header"]["member_id"]}, old)
        return heir

    def values(self, prefix):
        """Returns keys and raw values under a prefix."""
        answer = self.call("kv/range",
                           {"key": encoded(prefix), "range_end": encoded(end_of(prefix))})
        return {decoded(pair["key"]).decode(): decoded(pair.get("value", ""))
                for pair in answer.get("kvs", [])}

    def put(self, key, value):
        self.call("kv/put", {"key": encoded(key), "value": encoded(value)})

    def delete(self, key):
        self.call("kv/deleterange", {"key": encoded(key)})

    # Faults other than crashes.

    def fill(self):
        """Writes until the quota is used up and the alarm is raised."""
        check(self.quota, "the cluster has no quota")
        junk = os.urandom(64 * 1024)
        for number in range(3 * self.quota // len(junk)):
            try:
                self.put(f"/junk/{number}", junk)
            except Refused as refused:
                check("space exceeded" in str(refused), f"etcd refuses: {refused}")
                break
        eventually(lambda: "NOSPACE" in str(self.alarms()), "the alarm is raised", 10, 0.05)

    def alarms(self):
        return self.call("maintenance/alarm", {"action": "GET"}).get("alarms", [])

    def make_room(self):
        """Removes the data that filled the quota, in the order of etcd's guide."""
        self.call("kv/deleterange", {"key": encoded("/junk/"), "range_end": encoded("/junk0")})
        revision = self.call("kv/range", {"key": encoded("/junk/")})["header"]["revision"]
        self.call("kv/compaction", {"revision": revision, "physical": True})
        for member in self.members:
            self.call("maintenance/defragment", {}, member, 20)
        for alarm in self.alarms():
            self.call("maintenance/alarm", {**alarm, "action": "DEACTIVATE"})

    def enable_auth(self, user, password, prefix):
        """Creates users and roles: `root`, and a user that may read and write one prefix only."""
        for name, word in ((ROOT, ROOT_PASSWORD), (user, password)):
            self.call("auth/user/add", {"name": name, "password": word})
            self.call("auth/role/add", {"name": name})
            self.call("auth/user/grant", {"user": name, "role": name})
        self.permit(user, prefix)
        self.call("auth/enable", {})
        self.sign_in()

    def sign_in(self):
        """Signs in as root; necessary each time after all members were down."""
        self.token = None
        answer = self.call("auth/authenticate", {"name": ROOT, "password": ROOT_PASSWORD})
        self.token = answer["token"]

    def permit(self, role, prefix):
        self.call("auth/role/grant", {"name": role, "perm": self.permission(prefix)})

    def forbid(self, role, prefix):
        permission = self.permission(prefix)
        del permission["permType"]
        self.call("auth/role/revoke", {"role": role, **permission})

    def permission(self, prefix):
        return {"permType": "READWRITE", "key": encoded(prefix),
                "range_end": encoded(end_of(prefix))}
