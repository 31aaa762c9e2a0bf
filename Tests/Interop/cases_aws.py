"""AWS: clients with dummy keys use channels that sign each request (`auth.aws`).

An origin recomputes each signature with botocore; moto, a model of AWS, verifies the requests of boto3.
"""

import contextlib
import http.server
import json
import os
import re
import stat
import threading
import time

from cases_readme import GUIDE, block, typed
from cases_recipes import Recipe, recipe
from cases_sdks import finished
from harness import Child, case, check, clean_environment, equal, eventually, free_port
from proxy import Netproxy, to_yaml
from world import HERE

KEYS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "literal:secret-of-the-test",
        "session_token": "literal:session-token-of-the-test"}


def app(world, directory, *arguments, seconds=60):
    command = [world.python, os.path.join(HERE, "clients", "aws.py"), *arguments]
    variables = {"AWS_EC2_METADATA_DISABLED": "true"}
    lines = finished(command, directory, seconds, **variables).strip().splitlines()
    equal(lines[-1:], ["ok"], "the app's last line")
    return lines[:-1]


def signed(service, port, keys=None, scheme="http", **channel):
    aws = {"region": "us-east-1", "service": service, **(keys or KEYS)}
    return {"upstream": f"{scheme}://127.0.0.1:{port}", "auth": {"aws": aws}, **channel}


class Secrets:
    """Values that no log may contain."""

    def __init__(self, *values):
        self.values = set(values)

    def every_secret(self):
        return self.values


@case
def aws_random_requests(world):
    """For 10,000 requests, botocore computes the same signature, byte for byte."""
    port, tls_port = free_port(), free_port()
    channels = {
        "s3": signed("s3", port),
        "s3-tls": signed("s3", tls_port, scheme="https", tls={"ca": world.ca}),
        "api": signed("execute-api", port),
        "other": signed("bedrock", tls_port, scheme="https", tls={"ca": world.ca}),
    }
    with Netproxy(world, channels) as proxy:
        proxy.secret_sources.append(Secrets("secret-of-the-test", "session-token-of-the-test"))
        app(world, proxy.directory, "random", "1", "10000", str(port), str(tls_port),
            world.path("server.pem"), world.path("server.key"),
            *(proxy.url(f"/{name}") for name in channels), seconds=150)
        eventually(lambda: sum(len(proxy.exchanges(name)) for name in channels) >= 10000,
                   "the log has a line for each request")


@contextlib.contextmanager
def moto(world):
    """A model of AWS with one user and one role, which verifies signatures."""
    port = free_port()
    directory = world.path(world.unique("moto"))
    os.makedirs(directory)
    child = Child([world.python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                  directory, "moto", clean_environment(HOME=directory))
    try:
        child.wait_for_port(port, 60)
        lines = app(world, directory, "setup", f"http://127.0.0.1:{port}")
        yield port, json.loads(lines[-1])
    finally:
        child.stop()


def key_file(world, text):
    path = world.path(world.unique("key"))
    with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(text + "\n")
    return path


@case
def aws_boto3(world):
    """boto3 with dummy keys: S3 with unusual names and multipart uploads, DynamoDB, a role, new keys."""
    with moto(world) as (port, user):
        secret = key_file(world, user["secret"])
        keys = {"access_key_id": user["id"], "secret_access_key": "file:" + secret}
        role = {"arn": user["role"], "session_name": "netproxy", "url": f"http://127.0.0.1:{port}/"}
        replaced = key_file(world, "AKIAOLDOLDOLDOLDOLD0")
        program = world.path(world.unique("credentials"))
        document = {"Version": 1, "AccessKeyId": user["id"], "SecretAccessKey": user["secret"]}
        with open(program, "w") as file:
            file.write(f"#!/bin/sh\ncat {key_file(world, json.dumps(document))}\n")
        os.chmod(program, stat.S_IRWXU)
        channels = {
            "s3": signed("s3", port, keys, retry={"replay_body": "64KiB"}),
            "dynamodb": signed("dynamodb", port, keys),
            "sts": signed("sts", port, keys),
            "role": signed("sts", port, {**keys, "role": role}),
            "process": signed("sts", port, {"exec": [program]}),
            "replaced": signed("s3", port, {**keys, "access_key_id": "file:" + replaced}),
        }
        with Netproxy(world, channels) as proxy:
            proxy.secret_sources.append(Secrets(user["secret"]))
            app(world, proxy.directory, "s3", proxy.url("/s3"))
            app(world, proxy.directory, "dynamodb", proxy.url("/dynamodb"))
            for channel, end in (("sts", ":user/app"), ("process", ":user/app"),
                                 ("role", ":assumed-role/reader/netproxy")):
                arn = app(world, proxy.directory, "identity", proxy.url(f"/{channel}"))[0]
                check(arn.endswith(end), f"{channel} signs as {arn}")
            # The initial key of the channel is refused; by then the file contains another key.
            with open(replaced, "w", encoding="utf-8") as file:
                file.write(user["id"] + "\n")
            found = app(world, proxy.directory, "list", proxy.url("/replaced"))
            equal(found, ["['bucket']"], "the buckets")
            record = proxy.exchange("replaced", "/")
            equal(record["retries"], ["unauthorized"], "why it was sent again")
            equal(record["auth"]["kind"], "aws", "the kind of credential")
            check(record["auth"]["overrode_client"], f"the log does not say so: {record}")


class Account(Secrets):
    """The API of a recipe: a model of AWS, and the user's secret key."""

    def __init__(self, port, user):
        super().__init__(user["secret"])
        self.base = f"http://127.0.0.1:{port}"
        self.user = user

    def fill_in(self, text):
        """Inserts the key and the parameters that the host of a model does not imply."""
        text = text.replace("AKIDEXAMPLE", self.user["id"])
        return text.replace("https://s3.eu-central-1.amazonaws.com", self.base)


@recipe
def recipe_boto3(world):
    """A lent key is used as the ID of an AWS key in the client's own signature."""
    with moto(world) as (port, user):
        account = Account(port, user)
        proxy = Recipe(world, "boto3", account)
        secret = f"secret_access_key: {json.dumps('literal:' + user['secret'])}"
        proxy.text = re.sub(r'secret_access_key: "literal:[^"]*"',
                            lambda _: secret + ", region: us-east-1, service: s3",
                            account.fill_in(proxy.text))
        with proxy, open(os.path.join(proxy.directory, "app.py"), "w") as file:
            file.write("import boto3\ns3 = boto3.client('s3', 'us-east-1')\n"
                       "s3.create_bucket(Bucket='bucket')\n"
                       "s3.put_object(Bucket='bucket', Key='a b', Body=b'hello')\n"
                       "print(s3.get_object(Bucket='bucket', Key='a b')['Body'].read())\n")
            file.flush()
            proxy.program("python3", world.python)
            equal(proxy.type().strip(), "b'hello'", "the app's output")
            check(proxy.exchange("s3", "/bucket/a")["client_key"], "the lent key is in the log")


@case
def aws_guide(world):
    """Runs the commands of the example on the guide's page."""
    with moto(world) as (port, user):
        account = Account(port, user)
        text = account.fill_in(block("yaml", "auth:", f"{GUIDE}/AWS.md"))
        text = text.replace("/etc/netproxy/aws.secret", key_file(world, user["secret"]))
        proxy = Netproxy(world, {})
        proxy.secret_sources.append(account)
        del proxy.config["channels"]
        found = "        region: us-east-1\n        service: s3\n"
        proxy.text = f"{to_yaml(proxy.config)}\n{text}\n{found}"
        proxy.write_config = lambda: Netproxy.write_config(proxy, proxy.text)
        with proxy:
            app(world, proxy.directory, "s3", proxy.url("/s3"))
            lines = block("bash", "AWS_ENDPOINT_URL_S3", f"{GUIDE}/AWS.md")
            lines = lines.replace(":8080", f":{proxy.port}").replace("python3", world.python)
            lines = lines.replace("my-bucket/report.pdf", "bucket/plain")
            output = typed(proxy, ["sh", "-ec", lines])
            check("'Name': 'bucket'" in output and output.endswith("hello"), output)


class Metadata(http.server.BaseHTTPRequestHandler):
    """The agent of a container and the metadata service of an instance."""

    user, lifetime, asked = None, 0, []

    def log_message(self, *_):
        pass

    def answer(self, text):
        Metadata.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def credentials(self):
        end = time.gmtime(time.time() + Metadata.lifetime)
        return json.dumps({
            "Code": "Success", "AccessKeyId": Metadata.user["id"],
            "SecretAccessKey": Metadata.user["secret"],
            "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", end)})

    def do_PUT(self):
        self.answer("session" if self.path == "/latest/api/token" else "")

    def do_GET(self):
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.path == "/container" and self.headers["Authorization"] == "agent-token":
            self.answer(self.credentials())
        elif self.headers["X-aws-ec2-metadata-token"] != "session":
            self.send_error(401)
        else:
            self.answer("the-role" if self.path == roles else self.credentials())


@case
def aws_metadata(world):
    """The roles of a container and of an instance have credentials that expire and are renewed."""
    with moto(world) as (port, user), http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Metadata) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        Metadata.user, Metadata.lifetime, Metadata.asked = user, 8, []
        channels = {name: signed("sts", port, {"source": name}) for name in ("container", "instance")}
        proxy = Netproxy(world, channels)
        proxy.secret_sources.append(Secrets(user["secret"]))
        proxy.variables = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": base + "/container",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": key_file(world, "agent-token"),
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": base,
        }
        with proxy:
            for name in channels:
                arn = app(world, proxy.directory, "identity", proxy.url(f"/{name}"))[0]
                check(arn.endswith(":user/app"), f"{name} signs as {arn}")
            equal(Metadata.asked.count("/container"), 1, "requests to the agent")
            # Renewed before they expire, if a request arrives at that time.
            eventually(lambda: app(world, proxy.directory, "identity", proxy.url("/container"))
                       and Metadata.asked.count("/container") > 1, "the agent is asked again", 15)
            record = proxy.exchanges("container")[-1]
            check("retries" not in record, f"a request was refused: {record}")
        server.shutdown()
