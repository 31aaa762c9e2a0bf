"""Requests to AWS with dummy keys or none, and an origin that verifies signatures with botocore.

    aws.py random SEED COUNT PORT TLS_PORT CERTIFICATE KEY NAME=URL...
    aws.py setup MOTO_URL
    aws.py s3 | dynamodb | identity | list URL

`random` starts the origin, sends random requests to it through netproxy, and compares each received
signature, byte for byte, with the one that botocore computes for the same request.
"""

import base64
import hashlib
import http.client
import http.server
import json
import random
import re
import ssl
import sys
import threading
import urllib.parse
import zlib

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "secret-of-the-test", "session-token-of-the-test"
DUMMY = "AKIDUMMY"
STRICT = re.compile(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*")
SIGNATURE = ("x-amz-signature", "x-amz-credential", "x-amz-date", "x-amz-algorithm",
             "x-amz-expires", "x-amz-signedheaders", "x-amz-security-token")


# The origin.

def problem(method, target, fields, body, is_tls):
    """Returns the fault of a received request; None if botocore computes the same signature."""
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    def values(name):
        return [value for field, value in fields if field.lower() == name]

    found = values("authorization")
    if len(found) != 1:
        return f"{len(found)} signatures"
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request, "
        r"SignedHeaders=([^,]+), Signature=[0-9a-f]{64}", found[0])
    if not match:
        return f"no signature: {found[0]}"
    region, service, names = match[1], match[2], match[3].split(";")
    wanted = {field.lower() for field, _ in fields
              if field.lower().startswith("x-amz-") or field.lower() in (
                  "host", "content-type", "content-md5")}
    if set(names) != wanted:
        return f"signed {names}, not {sorted(wanted)}"
    if DUMMY in repr((target, fields)):
        return "the app's signature is left"
    if values("x-amz-security-token") != [TOKEN] or len(values("x-amz-date")) != 1:
        return "no session token, or not one date"
    stated = values("x-amz-content-sha256")
    digest = hashlib.sha256(body).hexdigest()
    if len(stated) > 1 or (service == "s3" and not stated):
        return f"digests: {stated}"
    if stated and stated[0] != digest:
        words = ["STREAMING-UNSIGNED-PAYLOAD-TRAILER"]
        words += ["UNSIGNED-PAYLOAD"] if service == "s3" and is_tls else []
        if stated[0] not in words:
            return f"the digest {stated[0]} is not that of the content"
    query = target.partition("?")[2]
    for piece in query.split("&"):
        if not all(STRICT.fullmatch(part) for part in piece.split("=", 1)):
            return f"not strictly encoded: {query}"
    if any(urllib.parse.unquote(piece.partition("=")[0]).lower() in SIGNATURE
           for piece in query.split("&")):
        return f"a parameter of a signature is left: {query}"

    kept = http.client.HTTPMessage()
    for field, value in fields:
        if field.lower() in names:
            kept[field] = value
    scheme = "https" if is_tls else "http"
    request = AWSRequest(method=method, url=f"{scheme}://{values('host')[0]}{target}",
                         headers=kept, data=body)
    request.context["timestamp"] = values("x-amz-date")[0]
    signer = (S3SigV4Auth if service == "s3" else SigV4Auth)(
        Credentials(KEY, SECRET, TOKEN), service, region)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    expected = (f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, "
                f"SignedHeaders={signer.signed_headers(signer.headers_to_sign(request))}, "
                f"Signature={signature}")
    if found[0] != expected:
        return f"expected {expected}, found {found[0]}, for {canonical!r}"
    return None


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def handle_any(self):
        body = b""
        if self.headers.get("Transfer-Encoding"):
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif length := int(self.headers.get("Content-Length") or 0):
            body = self.rfile.read(length)
        is_tls = isinstance(self.connection, ssl.SSLSocket)
        # `path` has one slash where the request line has several at the beginning.
        target = self.requestline.split(" ")[1]
        wrong = problem(self.command, target, self.headers.items(), body, is_tls)
        self.send_response(500 if wrong else 200)
        answer = (wrong or "").encode()
        self.send_header("X-Target", target)
        self.send_header("X-Digest", hashlib.sha256(body).hexdigest())
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = handle_any


def serve(port, certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Origin)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


# The random requests.

PLAIN = "abcXYZ019-._~"
ODD = "!$'()*+,:@;="


def text(dice, odd, most=12):
    """Returns a part of a path or a query, in any encoding that a client could choose."""
    parts = []
    for _ in range(dice.randrange(most)):
        kind = dice.random()
        if kind < 0.55:
            parts.append(dice.choice(PLAIN))
        elif kind < 0.7:
            parts.append(dice.choice(odd))
        else:
            byte = dice.choice([0x20, 0x25, 0x2B, 0x26, 0x3D, 0x41, 0x7E, 0xC3, 0xA9, 0xFF])
            parts.append(("%%%02X" if kind < 0.9 else "%%%02x") % byte)
    return "".join(parts)


def random_target(dice):
    depth, segments = 0, []
    for _ in range(dice.randrange(6)):
        kind = dice.random()
        if kind < 0.08:
            segments.append("")
        elif kind < 0.14:
            segments.append(".")
        elif kind < 0.2 and depth > 0:
            segments.append("..")
            depth -= 1
        else:
            segments.append("k" + text(dice, ODD))
            depth += 1
    path = "/" + "/".join(segments)
    if dice.random() < 0.3:
        return path, path
    pieces = []
    for _ in range(dice.randrange(5)):
        name = dice.choice(["acl", "prefix", "list-type", "x-id", text(dice, ODD + "/?")])
        pieces.append(name if dice.random() < 0.3 else f"{name}={text(dice, ODD + '/?')}")
    plain = path + "?" + "&".join(pieces)
    if dice.random() < 0.2:
        pieces += [f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={DUMMY}%2F20200101",
                   "X-Amz-Date=20200101T000000Z", "X-Amz-Expires=60",
                   "X-Amz-SignedHeaders=host", "X-Amz-Signature=" + "0" * 64]
        dice.shuffle(pieces)
    return plain, path + "?" + "&".join(pieces)


def random_fields(dice, body):
    fields = []
    if dice.random() < 0.5:
        fields.append(("Content-Type", dice.choice(
            ["application/json", "text/plain;  charset=utf-8", "application/x-amz-json-1.1"])))
    if dice.random() < 0.2:
        fields.append(("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="))
    for _ in range(dice.randrange(4)):
        name = dice.choice(["X-Amz-Meta-A", "x-amz-meta-b", "X-AMZ-Target", "X-Amz-Acl"])
        fields.append((name, dice.choice(["a", "two   blanks", "a,b", "DynamoDB_20120810.Get", "" ])))
    if dice.random() < 0.7:
        fields += [("Authorization", f"AWS4-HMAC-SHA256 Credential={DUMMY}/20200101/us-east-1/s3/"
                    "aws4_request, SignedHeaders=host, Signature=" + "0" * 64),
                   ("X-Amz-Date", "20200101T000000Z")]
        if dice.random() < 0.5:
            fields.append(("X-Amz-Security-Token", DUMMY))
    kind = dice.random()
    if kind < 0.3:
        fields.append(("X-Amz-Content-Sha256", hashlib.sha256(body).hexdigest()))
    elif kind < 0.4:
        fields.append(("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"))
    elif kind < 0.45:
        fields.append(("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
    dice.shuffle(fields)
    return fields


def meaning(target):
    """Returns path and parameters as a server decodes them."""
    path, _, query = target.partition("?")
    pieces = [piece.partition("=") for piece in query.split("&") if piece]
    return (urllib.parse.unquote_to_bytes(path),
            sorted((urllib.parse.unquote_to_bytes(name.replace("+", " ")), equals,
                    urllib.parse.unquote_to_bytes(value.replace("+", " ")))
                   for name, equals, value in pieces))


def send(dice, count, bases, failures):
    connection = None
    for number in range(count):
        base = urllib.parse.urlsplit(dice.choice(bases))
        plain, target = random_target(dice)
        method = dice.choice(["GET", "GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"])
        body = dice.randbytes(dice.randrange(2000)) if method in ("PUT", "POST", "PATCH") else b""
        fields = random_fields(dice, body)
        try:
            connection = connection or http.client.HTTPConnection(base.netloc, timeout=20)
            connection.putrequest(method, base.path + target, skip_accept_encoding=True)
            for name, value in fields:
                connection.putheader(name, value)
            is_chunked = bool(body) and dice.random() < 0.3
            if is_chunked:
                connection.putheader("Transfer-Encoding", "chunked")
            elif body or method in ("PUT", "POST", "PATCH"):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(iter([body[:100], body[100:]]) if is_chunked else body or None,
                                  encode_chunked=is_chunked)
            answer = connection.getresponse()
            words = answer.read().decode(errors="replace")
        except OSError as error:
            failures.append(f"{method} {target}: {error!r}")
            return
        arrived = answer.headers.get("X-Target", "")
        if answer.status != 200:
            failures.append(f"{method} {base.path}{target} {fields}: {answer.status} {words}")
        elif answer.headers["X-Digest"] != hashlib.sha256(body).hexdigest():
            failures.append(f"{method} {target}: other content arrived")
        elif meaning(arrived) != meaning(plain):
            failures.append(f"{target} arrived as {arrived}")
        if len(failures) > 5:
            return


def with_random(seed, count, port, tls_port, certificate, key, *bases):
    serve(int(port))
    serve(int(tls_port), (certificate, key))
    failures, threads = [], 4
    runs = [threading.Thread(target=send, args=(
        random.Random(f"{seed}-{n}"), int(count) // threads, bases, failures))
        for n in range(threads)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert not failures, "\n".join(failures[:5])
    # Names that no encoding may change, from boto3, whose own signature is for another host.
    s3 = client("s3", bases[0], s3={"addressing_style": "path"})
    for name in ("50%+1 (é)~!.txt", "a//b/../c", "a+b", "a%2Fb", "ünï/çödé", "'\"<>\\^`{|}", "a=b&c;d?e#f"):
        s3.put_object(Bucket="bucket", Key=name, Body=b"content", Metadata={"two": "a   b"})
        s3.list_objects_v2(Bucket="bucket", Prefix=name, Delimiter="/")


# boto3, against a model of AWS.

def client(service, url, key="dummy", secret="dummy", token=None, **options):
    import boto3
    from botocore.config import Config

    return boto3.client(service, endpoint_url=url, region_name="us-east-1",
                        aws_access_key_id=key, aws_secret_access_key=secret,
                        aws_session_token=token,
                        config=Config(retries={"max_attempts": 0}, read_timeout=15, **options))


POLICY = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "*", "Resource": "*"}]})
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]})


def with_setup(url):
    """Creates a user with a key and a role; from then on every request requires a signature."""
    import urllib.request

    iam = client("iam", url)
    iam.create_user(UserName="app")
    iam.put_user_policy(UserName="app", PolicyName="all", PolicyDocument=POLICY)
    key = iam.create_access_key(UserName="app")["AccessKey"]
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=POLICY)
    request = urllib.request.Request(f"{url}/moto-api/reset-auth", data=b"0", method="POST",
                                     headers={"Content-Type": "text/plain"})
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10).read()
    print(json.dumps({"id": key["AccessKeyId"], "secret": key["SecretAccessKey"], "role": role}))


def with_s3(url):
    import io

    from boto3.s3.transfer import TransferConfig

    s3 = client("s3", url, s3={"addressing_style": "path"})
    s3.create_bucket(Bucket="bucket")
    # Names that moto can verify; it decodes others before it checks their signature.
    contents = {"plain": b"hello", "a folder/with blanks.txt": b"blank", "a~b_c-d.e": b"odd",
                "empty": b""}
    for name, content in contents.items():
        s3.put_object(Bucket="bucket", Key=name, Body=content, Metadata={"two": "a   b"})
        assert s3.get_object(Bucket="bucket", Key=name)["Body"].read() == content, name
        assert s3.head_object(Bucket="bucket", Key=name)["ContentLength"] == len(content), name
    # In chunks with a checksum in a trailer, like SDKs over TLS.
    base = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(base.netloc, timeout=15)
    checksum = base64.b64encode(zlib.crc32(b"hello chunks").to_bytes(4, "big")).decode()
    connection.request(
        "PUT", base.path + "/bucket/chunks", encode_chunked=True,
        body=iter([b"6\r\nhello \r\n", b"6\r\nchunks\r\n",
                   f"0\r\nx-amz-checksum-crc32:{checksum}\r\n\r\n".encode()]),
        headers={"X-Amz-Content-Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
                 "Content-Encoding": "aws-chunked", "X-Amz-Decoded-Content-Length": "12",
                 "X-Amz-Trailer": "x-amz-checksum-crc32", "Transfer-Encoding": "chunked"})
    assert connection.getresponse().status == 200
    contents["chunks"] = b"hello chunks"
    assert s3.get_object(Bucket="bucket", Key="chunks")["Body"].read() == contents["chunks"]
    # Chunks signed by the client cannot be signed again.
    connection.close()
    connection.request("PUT", base.path + "/bucket/signed", body=b"0;chunk-signature=0\r\n\r\n",
                       headers={"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"})
    refusal = connection.getresponse()
    assert refusal.status == 400 and b"switch chunk signing off" in refusal.read()
    # In several parts.
    upload = bytes(i * 31 % 251 for i in range(6 << 20))
    s3.upload_fileobj(io.BytesIO(upload), "bucket", "large",
                      Config=TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
    assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == upload
    s3.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": "plain"})
    found = [item["Key"] for item in s3.list_objects_v2(Bucket="bucket")["Contents"]]
    assert sorted(found) == sorted([*contents, "large", "copy"]), found
    s3.delete_object(Bucket="bucket", Key="copy")


def with_dynamodb(url):
    table = client("dynamodb", url)
    table.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    table.put_item(TableName="orders", Item={"id": {"S": "1"}, "sum": {"N": "42"}})
    found = table.get_item(TableName="orders", Key={"id": {"S": "1"}})["Item"]
    assert found["sum"]["N"] == "42", found


def with_identity(url):
    print(client("sts", url).get_caller_identity()["Arn"])


def with_list(url):
    print([bucket["Name"] for bucket in client("s3", url).list_buckets()["Buckets"]])


if __name__ == "__main__":
    globals()["with_" + sys.argv[1]](*sys.argv[2:])
    print("ok")
