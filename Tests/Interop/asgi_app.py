"""The application of hypercorn, which serves the files of FILES_DIRECTORY and counts the posted content.

Every response contains the HTTP version of the request in X-HTTP-Version.
"""

import hashlib
import json
import os


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    digest, length, more = hashlib.sha256(), 0, True
    while more:
        event = await receive()
        content, more = event.get("body", b""), event.get("more_body", False)
        digest.update(content)
        length += len(content)

    async def begin(status, size):
        await send({"type": "http.response.start", "status": status, "headers": [
            (b"content-length", str(size).encode()),
            (b"x-http-version", scope["http_version"].encode())]})

    path = os.path.join(os.environ["FILES_DIRECTORY"], os.path.basename(scope["path"]))
    if scope["path"] == "/count":
        text = json.dumps({"length": length, "sha256": digest.hexdigest()}).encode()
        await begin(200, len(text))
        await send({"type": "http.response.body", "body": text})
    elif not os.path.isfile(path):
        await begin(404, 0)
        await send({"type": "http.response.body"})
    else:
        await begin(200, os.path.getsize(path))
        with open(path, "rb") as file:
            while scope["method"] != "HEAD" and (block := file.read(1 << 16)):
                await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body"})
