"""Typical uses of the client libraries of particular APIs, with checks of the results.

    sdks.py LIBRARY

The environment contains the address of the API and its credential, in the variables that the library itself
reads or in those that `netproxy exec` sets. Prints `ok` at the end. While a response streams, every client
sends another request: the API ends its stream only then, so a proxy that buffers would wait forever.
"""

import asyncio
import io
import os
import sys

UPLOAD = bytes(i * 31 % 251 for i in range(200_000))
URL, KEY = "NETPROXY_{}_URL", "NETPROXY_KEY"


def where(name):
    return os.environ[URL.format(name)], os.environ[KEY]


def with_openai():
    from openai import AsyncOpenAI, OpenAI

    client = OpenAI(max_retries=0, timeout=15)
    question = {"model": "gpt-test", "messages": [{"role": "user", "content": "Hi"}]}
    answer = client.chat.completions.create(**question)
    assert answer.choices[0].message.content == "hello world", answer
    words = []
    for chunk in client.chat.completions.create(stream=True, **question):
        if not words:
            assert [model.id for model in client.models.list()] == ["gpt-test"]
        words.append(chunk.choices[0].delta.content)
    assert words == ["hello", " world"], words
    stored = client.files.create(file=("notes.bin", UPLOAD), purpose="assistants")
    assert stored.bytes == len(UPLOAD), stored

    async def ask():
        async with AsyncOpenAI(max_retries=0, timeout=15) as other:
            return await other.chat.completions.create(**question)

    assert asyncio.run(ask()).choices[0].message.content == "hello world"


def with_anthropic():
    import anthropic

    client = anthropic.Anthropic(max_retries=0, timeout=15)
    question = {"model": "claude-test", "max_tokens": 9,
                "messages": [{"role": "user", "content": "Hi"}]}
    answer = client.messages.create(**question)
    assert answer.content[0].text == "hello world", answer
    words = []
    for event in client.messages.create(stream=True, **question):
        if event.type == "content_block_delta":
            if not words:
                assert [model.id for model in client.models.list()] == ["claude-test"]
            words.append(event.delta.text)
    assert words == ["hello", " world"], words
    stored = client.beta.files.upload(file=("notes.bin", UPLOAD, "application/octet-stream"))
    assert stored.size_bytes == len(UPLOAD), stored


def with_google_genai():
    from google import genai

    client = genai.Client(http_options={"timeout": 15000})
    # Without `base_url` here, the upload would go to the API's own address, without a proxy.
    here = {"base_url": os.environ["GOOGLE_GEMINI_BASE_URL"], "timeout": 15000}
    answer = client.models.generate_content(model="gemini-test", contents="Hi")
    assert answer.text == "hello world", answer
    words = []
    for chunk in client.models.generate_content_stream(model="gemini-test", contents="Hi"):
        if not words:
            assert [model.name for model in client.models.list()] == ["models/gemini-test"]
        words.append(chunk.text)
    assert words == ["hello", " world"], words
    stored = client.files.upload(file=io.BytesIO(UPLOAD), config={
        "mime_type": "text/plain", "http_options": here})
    assert stored.size_bytes == len(UPLOAD), stored


def with_stripe():
    import stripe

    url, key = where("STRIPE")
    # Files have their own host, and therefore their own channel.
    files = os.environ.get("NETPROXY_STRIPE_FILES_URL")
    client = stripe.StripeClient(key, max_network_retries=0, base_addresses={
        "api": url, **({"files": files} if files else {})})
    made = client.v1.customers.create({"name": "Ada", "metadata": {"order": "42"}})
    assert (made.id, made.name) == ("cus_1", "Ada"), made
    listed = client.v1.customers.list({"limit": 2}).auto_paging_iter()
    assert [each.id for each in listed] == ["cus_1", "cus_2", "cus_3"]
    if files:
        stored = client.v1.files.create(
            {"purpose": "dispute_evidence", "file": io.BytesIO(UPLOAD)})
        assert stored.size == len(UPLOAD), stored


def with_slack_sdk():
    from slack_sdk import WebClient
    from slack_sdk.errors import SlackApiError

    url, key = where("SLACK")
    client = WebClient(token=key, base_url=url + "/", timeout=15)
    said = client.chat_postMessage(channel="C1", text="hello", unfurl_links=False)
    assert said["message"]["text"] == "hello", said
    pages = client.conversations_list(limit=1)
    assert [page["channels"][0]["id"] for page in pages] == ["C1", "C2"]
    try:
        client.chat_postMessage(channel="nowhere", text="hello")
    except SlackApiError as error:
        assert error.response["error"] == "channel_not_found", error
    else:
        raise AssertionError("no error")


def with_hvac():
    import hvac

    client = hvac.Client(timeout=15)
    assert client.is_authenticated()
    secrets = client.secrets.kv.v2
    written = secrets.create_or_update_secret(path="app/db", secret={"password": "tiger"})
    assert written["data"]["version"] == 1, written
    read = secrets.read_secret_version(path="app/db", raise_on_deleted_version=True)
    assert read["data"]["data"] == {"password": "tiger"}, read
    # A method of its own: LIST.
    assert secrets.list_secrets(path="app")["data"]["keys"] == ["db"]


def with_kubernetes():
    from kubernetes import client, config, watch
    from kubernetes.stream import stream

    if "KUBECONFIG" in os.environ:
        config.load_kube_config()
    else:
        url, key = where("KUBERNETES")
        client.Configuration.set_default(client.Configuration(
            host=url, api_key={"authorization": "Bearer " + key}))
    core = client.CoreV1Api()
    pods = core.list_namespaced_pod("default", label_selector="app=web", _request_timeout=15)
    assert [pod.metadata.name for pod in pods.items] == ["web"], pods
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=10,
                                      resource_version=pods.metadata.resource_version):
        if not seen:
            made = core.create_namespaced_config_map("default", client.V1ConfigMap(
                metadata=client.V1ObjectMeta(name="settings"), data={"colour": "blue"}))
            assert made.data == {"colour": "blue"}, made
        seen.append((event["type"], event["object"].metadata.name))
    assert seen == [("ADDED", "web"), ("MODIFIED", "web")], seen
    # Over a WebSocket.
    said = stream(core.connect_get_namespaced_pod_exec, "web", "default", command=["echo", "hi"],
                  stdout=True, stderr=False, stdin=False, tty=False, _request_timeout=15)
    assert said == "hi\n", said


def main(library):
    {"openai": with_openai, "anthropic": with_anthropic, "google-genai": with_google_genai,
     "stripe": with_stripe, "slack_sdk": with_slack_sdk, "hvac": with_hvac,
     "kubernetes": with_kubernetes}[library]()
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
