"""Credentials that netproxy creates, configured as in the guide, verified with joserfc and hmac."""

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import time

from cases_readme import GUIDE
from guarded import GuardedAPI, Reply, bearer
from harness import case, check, equal
from proxy import Netproxy, to_yaml
from traffic import curl
from world import HERE, run

KINDS = {"ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
         "RS256": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]}

VERIFY = """
import json, sys
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

public, algorithm, *tokens = sys.argv[1:]
kind = ECKey if algorithm.startswith("ES") else RSAKey
key = kind.import_key(open(public).read())
for token in tokens:
    found = jwt.decode(token, key, algorithms=[algorithm])
    jwt.JWTClaimsRegistry(leeway=5).validate(found.claims)
    print(json.dumps([found.header, found.claims]))
"""


def section(title):
    with open(os.path.join(HERE, "..", "..", GUIDE, "Signing.md"), encoding="utf-8") as file:
        return file.read().split(f"## {title}\n")[1].split("\n## ")[0]


def make_key(world, algorithm):
    """Creates a private key; returns it with its public half."""
    name = world.unique("signing")
    key, public = world.path(name + ".pem"), world.path(name + ".pub")
    run(["openssl", "genpkey", *KINDS[algorithm], "-out", key])
    run(["openssl", "pkey", "-in", key, "-pubout", "-out", public])
    return key, public


def verified(world, public, algorithm, *tokens):
    """Returns the header and the claims of valid tokens."""
    return [json.loads(line) for line in
            run([world.python, "-c", VERIFY, public, algorithm, *tokens]).splitlines()]


class OpenAPI(GuardedAPI):
    """An API that records every request, regardless of its credential."""

    def __init__(self, answer=lambda _: Reply(b"fine")):
        super().__init__(bearer(), answer)

    def judge(self, request, foreign=()):
        return True

    def tokens(self):
        return [each.get("Authorization").removeprefix("Bearer ") for each in self.requests]

    def every_secret(self):
        return {token for token in self.tokens() if token}


class Written(Netproxy):
    """netproxy with a channel from the guide, and other addresses and secrets."""

    def __init__(self, world, channel, api, **replaced):
        super().__init__(world, {})
        self.secret_sources.append(api)
        del self.config["channels"]
        channel = re.sub(r"upstream: https://[^/,\s]+", f"upstream: {api.base}", channel)
        for word, text in replaced.items():
            channel = channel.replace(word, text)
        self.text = f"{to_yaml(self.config)}\nchannels:\n  {channel}\n"

    def write_config(self, text=None):
        super().write_config(text or self.text)


@case
def signed_tokens_verify_with_other_software(world):
    """Every row of the guide: header, claims, times, and one token for many requests."""
    rows = re.findall(r"^\| ([^|]+) \| `([^`]+)` \|$", section("A JSON Web Token"), re.M)
    equal(len(rows), 4, "the rows of the guide")
    for api_name, channel in rows:
        algorithm = re.search(r"algorithm: (\w+)", channel).group(1)
        key, public = make_key(world, algorithm)
        if api_name == "Google":
            with open(key, encoding="utf-8") as file:
                document = {"type": "service_account", "private_key": file.read()}
            key = world.path("account.json")
            with open(key, "w", encoding="utf-8") as file:
                json.dump(document, file)
        name = channel.split(":")[0]
        with OpenAPI() as api, Written(world, channel, api, SECRET=f'"file:{key}"') as proxy:
            for _ in range(3):
                equal(curl(proxy, proxy.url(f"/{name}/x")).status, 200, f"{api_name}: the status")
            tokens = api.tokens()
            equal(len(set(tokens)), 1, f"{api_name}: the tokens of three requests")
            header, claims = verified(world, public, algorithm, tokens[0])[0]
            equal(header.get("typ"), "JWT", f"{api_name}: typ")
            equal(header.get("kid"), dict(re.findall(r"\b(id): (\w+)", channel)).get("id"),
                  f"{api_name}: kid")
            written = re.search(r"claims: \{ (.*?) \}", channel).group(1)
            for claim, value in re.findall(r'(\w+): "?([^",]+)"?', written):
                equal(claims.get(claim), None if value == "off" else value, f"{api_name}: {claim}")
            check(50 <= time.time() - claims["iat"] <= 90, f"{api_name}: iat {claims['iat']}")
            if "exp" in claims:
                minutes = {"20m": 20, "10m": 10, "1h": 60}[
                    re.search(r"lifetime: (\w+)", channel).group(1)]
                equal(claims["exp"] - claims["iat"], minutes * 60, f"{api_name}: exp")
            done = proxy.command("token", name, "--refresh")
            equal(done.returncode, 0, f"{api_name}: token --refresh ({done.stderr})")
            equal(curl(proxy, proxy.url(f"/{name}/x")).status, 200, "after --refresh")
            verified(world, public, algorithm, api.tokens()[-1])


@case
def signed_channels_share_their_rate(world):
    """The guide's rate limits: each key has its own limit, and the channel's limit applies to all keys."""
    from cases_readme import app_block
    channel = app_block("yaml", "each_key").split("channels:\n  ")[1].rstrip()
    many = ('curl -s -o /dev/null -w "%{http_code} " -H "Authorization: Bearer $NETPROXY_KEY" '
            '"$NETPROXY_MAPS_URL/x?[1-12]"')
    with OpenAPI() as api, Written(world, channel, api,
                                   **{"file:/etc/netproxy/maps.key": "literal:a-key"}) as proxy:
        found = []
        for _ in range(2):
            done = subprocess.run(
                [world.netproxy, "exec", "--config", proxy.config_path, "--", "sh", "-c", many],
                env=proxy.environment(), stdout=subprocess.PIPE, timeout=30, check=False)
            equal(done.returncode, 0, "exec")
            found.append(done.stdout.decode().split())
        check(10 <= found[0].count("200") <= 11, f"the first key: {found[0]}")
        check(4 <= found[1].count("200") <= 7, f"the second key: {found[1]}")
        equal(set(found[0] + found[1]), {"200", "429"}, "the statuses")
        answer = curl(proxy, proxy.url("/maps/x"))
        equal(answer.status, 429, "without a key")
        document = json.loads(answer.body)
        equal(document["type"], "urn:netproxy:error:rate_limited", "the type of the error")
        check("requests: 60" in document["detail"], document["detail"])
        equal(len(api.requests), (found[0] + found[1]).count("200"), "what was sent")


@case
def signed_apps_get_the_tokens_of_installations(world):
    """The guide's GitHub App, against an endpoint that responds like GitHub's."""
    channel = re.search(r"```yaml\nchannels:\n  (.*?)\n```", section("A GitHub App"), re.S).group(1)
    key, public = make_key(world, "RS256")
    issued = []

    def answer(request):
        if request.method == "GET":
            good = request.get("Authorization") == "Bearer " + (issued or [""])[-1]
            return Reply(b"fine") if good else Reply({"message": "Bad credentials"}, 401)
        equal(request.path, "/app/installations/12345678/access_tokens", "the path")
        if len(issued) == 2:
            return Reply({"message": "Not Found", "documentation_url": "https://docs", "status":
                          "404"}, 404)
        issued.append(f"ghs_{world.unique('installation')}")
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        return Reply({"token": issued[-1], "expires_at": end, **request.json()}, 201)

    with OpenAPI(answer) as api:
        channel = channel.replace("grant: github_app", "grant: github_app\n        token_url: "
                                  f"{api.base}/app/installations/12345678/access_tokens")
        with Written(world, channel, api, **{"file:/etc/netproxy/code.pem": "file:" + key}) as proxy:
            for _ in range(2):
                equal(curl(proxy, proxy.url("/code/repos/x")).status, 200, "the status")
            asked = [each for each in api.requests if each.method == "POST"]
            equal(len(asked), 1, "the requests for a token")
            equal(asked[0].json(), {"repositories": ["website"], "permissions": {
                "contents": "read", "metadata": "read"}}, "what is asked for")
            _, claims = verified(world, public, "RS256", asked[0].get("Authorization")[7:])[0]
            equal(claims["iss"], "Iv23exampleexample", "iss")
            check(claims["exp"] - time.time() < 600, f"exp: {claims['exp']}")
            check(time.time() - claims["iat"] >= 50, f"iat: {claims['iat']}")
            # The token is revoked.
            issued[0] = "ghs_another"
            equal(curl(proxy, proxy.url("/code/repos/x")).status, 200, "after a revocation")
            issued[1] = "ghs_another"
            equal(curl(proxy, proxy.url("/code/repos/x")).status, 401, "after the app is removed")
            status = proxy.command("status").stdout
            check("knows no such installation" in status and "Not Found" in status, status)


@case
def signed_requests_have_the_code_of_their_content(world):
    """The guide's HMAC, recomputed from the received request."""
    channel = re.search(r"```yaml\nchannels:\n  (.*?)\n```",
                        section("A signature of each request"), re.S).group(1)
    secret = os.urandom(32)
    key = world.path("pay.key")
    with open(key, "wb") as file:
        file.write(base64.b64encode(secret) + b"\n")
    with OpenAPI() as api, Written(world, channel, api,
                                   **{"file:/etc/netproxy/pay.key": "file:" + key}) as proxy:
        body = "x" * 60000
        for arguments in ([proxy.url("/pay/orders?b=2&a=1")],
                          [proxy.url("/pay/orders"), "-d", '{"amount":1}'],
                          [proxy.url("/pay/orders"), "-d", body, "-H", "Transfer-Encoding: chunked"],
                          [proxy.url("/pay/a%2Fb"), "-X", "DELETE", "-H", "X-Signature: forged"]):
            equal(curl(proxy, *arguments).status, 200, f"the status of {arguments[0]}")
        equal(len(api.requests), 4, "the requests")
        for each in api.requests:
            stamp = each.get("X-Timestamp")
            check(abs(int(stamp) - time.time()) < 60, f"the time: {stamp}")
            equal(each.get("X-Api-Key"), "my-id", "the id")
            text = f"{stamp}{each.method}{each.target}".encode() + each.body
            code = hmac.new(secret, text, hashlib.sha256).digest()
            equal(each.get("X-Signature"), base64.b64encode(code).decode(), f"the code of {each}")
        answer = curl(proxy, proxy.url("/pay/orders"), "-d", "x" * 70000)
        equal(answer.status, 413, "content that is too long")
        check(b"retry.replay_body" in answer.body, answer.body)
