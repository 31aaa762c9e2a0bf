"""Client libraries of particular APIs, through a channel that injects the credential.

The clients have a placeholder for the key; the APIs require the real credential, and no other value may
arrive in its place.
"""

import os
import subprocess

import sdk_apis
from cases_clients import program
from guarded import PLACEHOLDER
from harness import case, check, clean_environment, equal, free_port
from proxy import Netproxy
from world import HERE


def finished(command, directory, seconds=60, **variables):
    """Runs a client and returns its standard output; fails unless it exits with 0."""
    environment = clean_environment(HOME=directory, **variables)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=seconds, env=environment,
                              cwd=directory)
    except subprocess.TimeoutExpired:
        check(False, f"{command[0]} did not end within {seconds} s")
    words = (done.stdout + done.stderr).decode(errors="replace").strip()
    check(done.returncode == 0, f"{command[0]}: exit {done.returncode}: {words[-900:]}")
    return done.stdout.decode(errors="replace")


def daemon(world, api, channels, **keys):
    """Returns netproxy with channels to an API whose credential must not be logged."""
    proxy = Netproxy(world, channels, **keys)
    proxy.secret_sources.append(api)
    return proxy


def app(world, library, proxy, **variables):
    command = [world.python, os.path.join(HERE, "clients", "sdks.py"), library]
    equal(finished(command, proxy.directory, **variables).strip(), "ok", "the app's output")


@case
def client_openai(world):
    with sdk_apis.openai() as api, daemon(world, api, {"llm": api.channel("/v1")}) as proxy:
        app(world, "openai", proxy, OPENAI_BASE_URL=proxy.url("/llm"), OPENAI_API_KEY=PLACEHOLDER)
        api.check("POST /v1/chat/completions", "GET /v1/models", "POST /v1/files")
        # With the API's own URL, and netproxy as the proxy.
        app(world, "openai", proxy, OPENAI_BASE_URL=api.base + "/v1", OPENAI_API_KEY=PLACEHOLDER,
            http_proxy=proxy.url(""))
        equal(len(api.requests), 10, "requests that arrived")
        record = proxy.exchange("llm", "/v1/models")
        check(record["auth"]["overrode_client"], f"the log does not say so: {record}")


@case
def client_anthropic(world):
    with sdk_apis.anthropic() as api:
        # From version 2 on, the SDK sends its key as a Bearer token.
        channel = api.channel(headers={"remove": ["Authorization"]})
        with daemon(world, api, {"llm": channel}) as proxy:
            app(world, "anthropic", proxy, ANTHROPIC_BASE_URL=proxy.url("/llm"),
                ANTHROPIC_API_KEY=PLACEHOLDER)
        api.check("POST /v1/messages", "GET /v1/models", "POST /v1/files")
        equal(len(api.requests), 4, "requests that arrived")


@case
def client_google_genai(world):
    """Uploads go to the path in the API's response, so the channel has a listener and no prefix."""
    port = free_port()
    with sdk_apis.google_genai() as api:
        channel = api.channel(match={"listen": f"127.0.0.1:{port}"})
        with daemon(world, api, {"gemini": channel}) as proxy:
            app(world, "google-genai", proxy, GEMINI_API_KEY=PLACEHOLDER,
                GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{port}")
            api.check("POST /v1/models/gemini-test:generateContent",
                      "POST /v1/models/gemini-test:streamGenerateContent",
                      "GET /v1/models")
            equal(len(api.seen("POST", "/upload/v1/files")), 2, "requests of the upload")


@case
def client_stripe(world):
    with sdk_apis.stripe() as api:
        channels = {"stripe": api.channel(), "stripe-files": api.channel()}
        with daemon(world, api, channels) as proxy:
            app(world, "stripe", proxy, NETPROXY_STRIPE_URL=proxy.url("/stripe"),
                NETPROXY_STRIPE_FILES_URL=proxy.url("/stripe-files"), NETPROXY_KEY=PLACEHOLDER)
        api.check("POST /v1/customers", "POST /v1/files")
        equal(len(api.seen("GET", "/v1/customers")), 2, "pages")


@case
def client_slack_sdk(world):
    with sdk_apis.slack() as api, daemon(world, api, {"slack": api.channel("/api")}) as proxy:
        app(world, "slack_sdk", proxy, NETPROXY_SLACK_URL=proxy.url("/slack"),
            NETPROXY_KEY=PLACEHOLDER)
        equal(len(api.seen("POST", "/api/chat.postMessage")), 2, "messages")
        api.check()


@case
def client_hvac(world):
    with sdk_apis.vault() as api, daemon(world, api, {"vault": api.channel()}) as proxy:
        app(world, "hvac", proxy, VAULT_ADDR=proxy.url("/vault"), VAULT_TOKEN=PLACEHOLDER)
        api.check("GET /v1/auth/token/lookup-self", "POST /v1/secret/data/app/db",
                  "GET /v1/secret/data/app/db", "LIST /v1/secret/metadata/app")


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: app
clusters: [{{ name: app, cluster: {{ server: "{url}" }} }}]
users: [{{ name: app, user: {{ token: "{token}" }} }}]
contexts: [{{ name: app, context: {{ cluster: app, user: app }} }}]
"""


@case
def client_kubernetes(world):
    """A list, a watch and a command in a pod; the command uses a WebSocket."""
    with sdk_apis.kubernetes() as api:
        proxy = daemon(world, api, {"kubernetes": api.channel()})
        # Its WebSocket library sends the server's own origin, as if it were a page of the server.
        proxy.config["channels"]["kubernetes"]["access"] = {"origins": [proxy.url("")]}
        file = os.path.join(proxy.directory, "kubeconfig")
        with open(file, "w", encoding="utf-8") as out:
            out.write(KUBECONFIG.format(url=proxy.url("/kubernetes"), token=PLACEHOLDER))
        with proxy:
            app(world, "kubernetes", proxy, KUBECONFIG=file)
        pods = "/api/v1/namespaces/default/pods"
        api.check("POST /api/v1/namespaces/default/configmaps", f"GET {pods}/web/exec")
        equal(len(api.seen("GET", pods)), 2, "list and watch")


@case
def client_node_api(world):
    node = program("node")
    with sdk_apis.openai() as api, daemon(world, api, {"llm": api.channel("/v1")}) as proxy:
        said = finished([node, os.path.join(HERE, "clients", "node_api.mjs")], proxy.directory,
                        OPENAI_BASE_URL=proxy.url("/llm"), OPENAI_API_KEY=PLACEHOLDER)
        equal(said.strip(), "ok", "the app's output")
        api.check("GET /v1/models", "POST /v1/files")
        equal(len(api.seen("POST", "/v1/chat/completions")), 2, "completions")
