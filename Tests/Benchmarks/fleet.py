#!/usr/bin/env python3
"""Measures the load on etcd by machines that share their tokens, for the guide's page on fleets.

    fleet.py --netproxy PATH [--watches N] [--families N] [--seconds S]

Three members on this machine, without TLS. Prints

 - the requests to etcd by a daemon at its start, and by a renewal of ten daemons;
 - the memory of a watch, with N watches like those of daemons, and the time to notify all of them of a
   record of 4 KiB;
 - the number of renewals per second, each of which consists of five writes.
"""

import argparse
import asyncio
import base64
import json
import os
import re
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))

from endpoint import Endpoint  # noqa: E402
from etcd import Cluster  # noqa: E402
from machines import Machine  # noqa: E402
from world import World  # noqa: E402

RECORD = base64.b64encode(os.urandom(3072)).decode()


def encoded(text):
    return base64.b64encode(text.encode()).decode()


class Gateway:
    """A connection to a member's JSON gateway."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, member):
        return cls(*await asyncio.open_connection(member.address, member.port))

    def send(self, path, document):
        body = json.dumps(document).encode()
        head = f"POST /v3/{path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)

    async def ask(self, path, document):
        self.send(path, document)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length:
            return json.loads(await self.reader.readexactly(int(length[1])))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return json.loads(body)


def handled(cluster):
    """Returns the number of requests of each method that the members have served."""
    counts = {}
    for member in cluster.members:
        with urllib.request.urlopen(cluster.url(member) + "/metrics", timeout=5) as answer:
            text = answer.read().decode()
        for method, count in re.findall(
                r'grpc_server_started_total\{grpc_method="(\w+)"[^}]*\} (\d+)', text):
            counts[method] = counts.get(method, 0) + int(count)
    return counts


def difference(after, before):
    return {method: count - before.get(method, 0) for method, count in sorted(after.items())
            if count > before.get(method, 0)}


def resident(member):
    with open(f"/proc/{member.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def daemons(world, cluster):
    """Counts the requests of real daemons."""
    key = world.secret_file(base64.b64encode(os.urandom(32)).decode())
    with Endpoint(lifetime=3600.0) as endpoint:
        first = Machine(world, endpoint, cluster, key)
        before = handled(cluster)
        first.start()
        urllib.request.urlopen(f"http://127.0.0.1:{first.port}/orders/1", timeout=10).read()
        time.sleep(1)
        print("the first daemon, with its first request:", difference(handled(cluster), before))
        others = [Machine(world, endpoint, cluster, key) for _ in range(9)]
        before = handled(cluster)
        for other in others:
            other.start()
            urllib.request.urlopen(f"http://127.0.0.1:{other.port}/orders/1", timeout=10).read()
        time.sleep(1)
        print("nine more, with theirs:", difference(handled(cluster), before))
        before = handled(cluster)
        first.command("token", "orders", "--refresh")
        time.sleep(1)
        print("a renewal, all ten:", difference(handled(cluster), before))
        for daemon in [first, *others]:
            daemon.__exit__(None, None, None)


async def watches(cluster, count):
    """Measures the memory of idle watches and the time to notify all of them."""
    before = [resident(member) for member in cluster.members]
    create = {"create_request": {"key": encoded("/load/orders/"),
                                 "range_end": encoded("/load/orders0")}}
    links = []
    for number in range(count):
        link = await Gateway.open(cluster.members[number % len(cluster.members)])
        link.send("watch", create)
        links.append(link)
    for link in links:
        await link.reader.readuntil(b'"created":true}}\n')
    await asyncio.sleep(2)
    grown = sum(resident(member) for member in cluster.members) - sum(before)
    print(f"{count} watches: {grown / count:.0f} KiB each")

    async def wait(link):
        await link.reader.readuntil(b'"events"')
        await link.reader.readuntil(b"\n")

    gateway = await Gateway.open(cluster.members[0])
    began = time.monotonic()
    tasks = [asyncio.create_task(wait(link)) for link in links]
    await gateway.ask("kv/put", {"key": encoded("/load/orders/record"), "value": encoded(RECORD)})
    written = time.monotonic() - began
    await asyncio.gather(*tasks)
    told = time.monotonic() - began
    print(f"a record of {len(RECORD)} bytes: written after {written * 1000:.0f} ms, told to all "
          f"after {told * 1000:.0f} ms")
    for link in links:
        link.writer.close()


async def renewals(cluster, families, seconds):
    """Measures renewals per second, of many families at the same time."""
    done = 0
    end = time.monotonic() + seconds

    async def renew(number):
        nonlocal done
        gateway = await Gateway.open(cluster.members[number % len(cluster.members)])
        lock, record = (encoded(f"/load/{number}/{name}") for name in ("lock", "record"))
        while time.monotonic() < end:
            lease = (await gateway.ask("lease/grant", {"TTL": "5"}))["ID"]
            taken = await gateway.ask("kv/txn", {
                "compare": [{"key": lock, "target": "CREATE", "create_revision": "0"}],
                "success": [{"request_put": {"key": lock, "value": lock, "lease": lease}},
                            {"request_range": {"key": record}}]})
            created = taken["header"]["revision"]
            for _ in range(2):
                await gateway.ask("kv/txn", {
                    "compare": [{"key": lock, "target": "CREATE", "create_revision": created}],
                    "success": [{"request_put": {"key": record, "value": encoded(RECORD)}}]})
            await gateway.ask("lease/revoke", {"ID": lease})
            done += 1
        gateway.writer.close()

    await asyncio.gather(*(renew(number) for number in range(families)))
    print(f"{families} families at once: {done / seconds:.0f} renewals a second, "
          f"{5 * done / seconds:.0f} writes a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netproxy", required=True)
    parser.add_argument("--watches", type=int, default=3000)
    parser.add_argument("--families", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    world = World(os.path.abspath(options.netproxy))
    try:
        with Cluster(world, tls=False) as cluster:
            daemons(world, cluster)
            asyncio.run(watches(cluster, options.watches))
            asyncio.run(renewals(cluster, 1, options.seconds))
            asyncio.run(renewals(cluster, options.families, options.seconds))
    finally:
        world.stop(keep=False)


if __name__ == "__main__":
    main()
