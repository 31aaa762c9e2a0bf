#!/usr/bin/env python3
"""Faults of all kinds at the same time; at the end the session must be alive.

    storm.py SECONDS --netproxy PATH [--identity] [--seed N]

Three daemons share a state directory with a rotating refresh token. The token endpoint is slow at random,
rotates and loses 5 % of its responses; 5 % are 500, and at most two of these faults occur in a row. Access
tokens are revoked at random, daemons are killed at random and restarted, and a client with bounded
concurrency sends requests all the time. A failed client request is avoidable unless it was in flight on a
daemon that was killed before it had responded. Prints the counts; exits with 1 if a failure was avoidable, if
a used refresh token was presented outside the grace window, or if the session is dead at the end.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time

from endpoint import Endpoint, expect_no_reuse
from fleet import Load, Mortal
from harness import check, equal
from world import run_alone

DAEMONS = 3
LIFETIME = 3.0
GRACE = 30.0
SHARE = 0.05


class Storm:
    """The faults of some daemons and their token endpoint."""

    def __init__(self, endpoint, daemons, load, chance):
        self.endpoint, self.daemons, self.load, self.chance = endpoint, daemons, load, chance
        self.kills = self.revocations = 0

    async def blow(self, seconds):
        end = time.monotonic() + seconds
        await asyncio.gather(self.revoke(end), self.kill(end))

    async def pause(self, end, least, most):
        """Whether there is time for another fault after a pause."""
        await asyncio.sleep(min(self.chance.uniform(least, most), max(0, end - time.monotonic())))
        return time.monotonic() < end

    async def revoke(self, end):
        while await self.pause(end, 8, 16):
            self.endpoint.revoke()
            self.revocations += 1

    async def kill(self, end):
        while await self.pause(end, 1, 4):
            if self.chance.random() < 0.7:
                # During a renewal, possibly by the affected daemon.
                before = len(self.endpoint.requests)
                patience = time.monotonic() + 3
                while len(self.endpoint.requests) == before and time.monotonic() < patience:
                    await asyncio.sleep(0.005)
            daemon = self.chance.choice(self.daemons)
            self.load.up.discard(daemon)
            await asyncio.to_thread(daemon.kill)
            self.kills += 1
            await asyncio.to_thread(daemon.start)
            self.load.up.add(daemon)


def blow(world, seconds, seed, is_shared=False):
    """Runs one storm. Returns the counts; raises Failure if it did harm."""
    chance = random.Random(seed)
    state = world.path(world.unique("state"))
    os.mkdir(state, mode=0o700)
    with Endpoint(lifetime=LIFETIME, grace=GRACE) as endpoint:
        endpoint.chance = random.Random(chance.random())
        daemons = [Mortal(world, endpoint, state=state, is_shared=is_shared)
                   for _ in range(DAEMONS)]
        for daemon in daemons:
            daemon.start()
        load = Load(daemons, connections=8, pause=0.01)
        storm = Storm(endpoint, daemons, load, chance)
        endpoint.lost_share = endpoint.error_share = SHARE
        endpoint.slowness = 0.1
        asyncio.run(load.during(storm.blow(seconds)))
        endpoint.lost_share = endpoint.error_share = endpoint.slowness = 0.0
        alive = [daemon.command("token", "orders", "--refresh").returncode for daemon in daemons]
        for daemon in daemons:
            daemon.__exit__(None, None, None)
        words = endpoint.outcomes()
        counts = {
            "seconds": seconds, "seed": seed, "requests": load.total,
            "statuses": {str(status): count for status, count in load.statuses.items()},
            "in_flight_on_a_killed_daemon": load.in_flight_on_killed,
            "avoidable_failures": len(load.failures),
            "slowest_answer_s": round(load.slowest, 1),
            "kills": storm.kills, "revocations": storm.revocations,
            "token_requests": len(words),
            "rotated": sum(word.startswith("rotated") for word in words),
            "answers_lost": sum(word.endswith("lost") for word in words),
            "answers_500": words.count("error"),
            "repeated_in_the_grace": sum(word.startswith("repeated") for word in words),
            "reused": words.count("reused"), "api_401": endpoint.refused,
        }
        print(json.dumps(counts), flush=True)
        expect_no_reuse(endpoint)
        equal(alive, [0] * DAEMONS, "exit status of a last refresh with each daemon")
        check(not load.failures, "avoidable failures: " + "; ".join(load.failures[:5]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--netproxy", required=True, help="the program under test")
    parser.add_argument("--identity", action="store_true",
                        help="two channels of each daemon share the sign-in")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    return run_alone(options.netproxy, lambda world: blow(
        world, options.seconds, options.seed, options.identity))


if __name__ == "__main__":
    sys.exit(main())
