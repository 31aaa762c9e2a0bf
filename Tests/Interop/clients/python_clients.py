"""Several GETs and POSTs with one Python client.

    python_clients.py LIBRARY base|forward URL PROXY

`base`: URL points to netproxy. `forward`: URL is the API's, and PROXY is netproxy as an HTTP proxy. Prints
`ok` if every response is correct.
"""

import asyncio
import hashlib
import http.client
import json
import sys
import urllib.parse

BODY = bytes(i * 31 % 251 for i in range(40 * 1024))
DIGEST = hashlib.sha256(BODY).hexdigest()
library, mode, url, proxy = sys.argv[1:5]
forward = mode == "forward"


def pieces():
    for offset in range(0, len(BODY), 1000):
        yield BODY[offset:offset + 1000]


def expect_get(status, text, number):
    answer = json.loads(text)
    assert status == 200, (status, text)
    assert answer["method"] == "GET" and answer["uri"].endswith(f"n={number}"), answer


def expect_post(status, text):
    answer = json.loads(text)
    assert status == 200, (status, text)
    assert (answer["length"], answer["sha256"]) == (len(BODY), DIGEST), answer


def with_http_client():
    target = urllib.parse.urlsplit(proxy if forward else url)
    prefix = url if forward else urllib.parse.urlsplit(url).path
    host = urllib.parse.urlsplit(url).netloc
    connection = http.client.HTTPConnection(target.hostname, target.port, timeout=20)
    for number in range(4):
        connection.request("GET", f"{prefix}?n={number}", headers={"Host": host})
        response = connection.getresponse()
        expect_get(response.status, response.read(), number)
    for body, chunked in ((BODY, False), (pieces(), True)):
        connection.request("POST", prefix, body=body, headers={"Host": host},
                           encode_chunked=chunked)
        response = connection.getresponse()
        expect_post(response.status, response.read())
    connection.close()


def with_requests():
    import requests

    with requests.Session() as session:
        session.trust_env = False
        if forward:
            session.proxies = {"http": proxy}
        for number in range(4):
            answer = session.get(url, params={"n": number}, timeout=20)
            expect_get(answer.status_code, answer.text, number)
        for body in (BODY, pieces()):
            answer = session.post(url, data=body, timeout=20)
            expect_post(answer.status_code, answer.text)


def with_httpx():
    import httpx

    with httpx.Client(trust_env=False, timeout=20, proxy=proxy if forward else None) as client:
        for number in range(4):
            answer = client.get(url, params={"n": number})
            expect_get(answer.status_code, answer.text, number)
        for body in (BODY, pieces()):
            answer = client.post(url, content=body)
            expect_post(answer.status_code, answer.text)


def with_aiohttp():
    import aiohttp

    async def stream():
        for piece in pieces():
            yield piece

    async def main():
        options = {"proxy": proxy} if forward else {}
        limit = aiohttp.ClientTimeout(total=20)
        async with aiohttp.ClientSession(timeout=limit) as session:
            for number in range(4):
                async with session.get(url, params={"n": number}, **options) as answer:
                    expect_get(answer.status, await answer.text(), number)
            for body, extra in ((BODY, {}), (stream(), {}), (BODY, {"expect100": True})):
                async with session.post(url, data=body, **options, **extra) as answer:
                    expect_post(answer.status, await answer.text())

    asyncio.run(main())


{"http.client": with_http_client, "requests": with_requests, "httpx": with_httpx,
 "aiohttp": with_aiohttp}[library]()
print("ok")
