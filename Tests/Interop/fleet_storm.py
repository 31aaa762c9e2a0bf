#!/usr/bin/env python3
"""Many machines on one rotating refresh token in etcd, while everything goes wrong for a while.

    fleet_storm.py SECONDS --netproxy PATH [--daemons N] [--identity] [--namespaces] [--seed N]

The daemons' tokens are in etcd of three members. The token endpoint rotates, is slow at random and
loses 5 % of its answers. A bounded client sends requests to all daemons. Meanwhile:

 - daemons are killed, many of them in the middle of a token request, and started again;
 - the daemon in the middle of a token request is stopped (SIGSTOP) past its lease of 5 s;
 - daemons are cut off from all members, and what they sent arrives late or never;
 - members are killed and started again, and cut off from the others, one at a time;
 - the leader changes;
 - one daemon's clock is an hour fast.

Partitions are made by relays; with --namespaces every program is in a network namespace, and
packets are dropped or a link is down.

A failure at an app is avoidable unless its daemon was killed, stopped or cut off from etcd while
the request lasted or in the 5 s before it began. The members always have a quorum: that a member
is gone, that the leader changes or that another daemon died with the lock excuses nothing.

A refresh is one more than one per expiry when it spends a token less than 1.9 s after the one
before was spent; tokens live for 3 s and are due after 2 s. It is a recovery, and not one too many,
when the answer to the one before was lost, or its daemon was killed, stopped or cut off.

Prints the counts. Exits 1 if a failure was avoidable, a spent refresh token was presented outside
of the grace window, a refresh was one too many, the session is dead in the end, or a secret can be
read in etcd.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from contextlib import ExitStack, contextmanager
from itertools import pairwise

from endpoint import Endpoint, expect_no_reuse
from etcd import Cluster
from fleet import Load
from harness import Failure, Skipped, check, equal, eventually
from machines import Machine, clock_off_by, expect_nothing_readable, new_state_key
from namespaces import Network
from relay import Relays, owner_of
from world import World

LIFETIME = 3.0
GRACE = 30.0
LOST_SHARE = 0.05
# How long a daemon that was hurt may take to be well again.
CONVALESCENCE = 5.0
# Tokens are due 2 s after they were issued.
SOONEST = 1.9


class Excuses:
    """When which daemon was hurt."""

    def __init__(self):
        self.times = {}

    @contextmanager
    def during(self, daemon):
        span = [time.monotonic(), float("inf")]
        self.times.setdefault(daemon, []).append(span)
        try:
            yield
        finally:
            span[1] = time.monotonic()

    def cover(self, daemon, began, ended, before=CONVALESCENCE):
        """Whether the daemon was hurt in the time, or shortly before it."""
        return any(begin <= ended and began - before <= end
                   for begin, end in self.times.get(daemon, []))


class ExcusingLoad(Load):
    """A load that does not count what cannot be helped as a failure."""

    def __init__(self, daemons, excuses, **keys):
        super().__init__(daemons, **keys)
        self.excuses, self.excused = excuses, 0

    def note(self, daemon, began, status, text):
        failures = len(self.failures)
        super().note(daemon, began, status, text)
        if len(self.failures) > failures:
            if self.excuses.cover(daemon, began, time.monotonic()):
                self.failures.pop()
                self.excused += 1
            else:
                self.failures[-1] += f" (daemon {self.daemons.index(daemon)}, {clock()})"


def clock():
    return time.strftime("%H:%M:%S")


class FleetStorm:
    """The weather over daemons, members and the token endpoint."""

    def __init__(self, endpoint, cluster, daemons, chance):
        self.endpoint, self.cluster, self.daemons = endpoint, cluster, daemons
        self.chance = chance
        self.excuses = Excuses()
        self.load = ExcusingLoad(daemons, self.excuses, connections=10, pause=0.05)
        self.hurt = set()
        self.counts = dict.fromkeys(
            ("kills_of_daemons", "pauses_past_the_lease", "partitions_of_daemons",
             "kills_of_members", "partitions_of_members", "leader_changes"), 0)
        self.trace = []
        self.waiting = set()
        endpoint.on_arrival = self.on_arrival

    def on_arrival(self, record):
        """Finds out who sends the token request, while its connection is open."""
        if record["place"]:
            holder = next(each for each in self.daemons if each.place is record["place"])
        else:
            by_pid = {each.child.pid: each for each in self.daemons}
            holder = by_pid.get(owner_of(record["port"], by_pid))
        record["holder"] = holder
        for loop, queue in list(self.waiting) if holder else ():
            loop.call_soon_threadsafe(queue.put_nowait, holder)

    async def next_holder(self, patience):
        """The daemon that begins the next token request; `None` if none does, or it is hurt."""
        entry = (asyncio.get_running_loop(), asyncio.Queue())
        self.waiting.add(entry)
        try:
            holder = await asyncio.wait_for(entry[1].get(), patience)
        except TimeoutError:
            return None
        finally:
            self.waiting.discard(entry)
        return None if holder in self.hurt else holder

    async def blow(self, seconds):
        end = time.monotonic() + seconds
        members = asyncio.Lock()
        await asyncio.gather(
            self.hurt_daemons(end, self.kill, 1.5, 5), self.hurt_daemons(end, self.stop, 5, 12),
            self.hurt_daemons(end, self.cut, 4, 10), self.hurt_members(end, members, 4, 12),
            self.change_leader(end, members))

    async def is_time(self, end, least, most):
        """Whether there is time for another blow after a pause."""
        await asyncio.sleep(min(self.chance.uniform(least, most), max(0, end - time.monotonic())))
        return time.monotonic() < end

    def say(self, what, count=None):
        self.trace.append(f"{clock()} {what}")
        if count:
            self.counts[count] += 1

    def name(self, daemon):
        return f"daemon {self.daemons.index(daemon)}"

    # Daemons.

    async def hurt_daemons(self, end, blow, least, most):
        while await self.is_time(end, least, most):
            daemon = None
            if blow == self.stop or self.chance.random() < 0.6:
                daemon = await self.next_holder(4)
            if not daemon and blow == self.stop:
                continue
            daemon = daemon or self.chance.choice([e for e in self.daemons if e not in self.hurt])
            if daemon in self.hurt:
                continue
            self.hurt.add(daemon)
            with self.excuses.during(daemon):
                await blow(daemon)
            self.hurt.discard(daemon)

    async def kill(self, daemon):
        self.load.up.discard(daemon)
        self.say(f"kills {self.name(daemon)}", "kills_of_daemons")
        await asyncio.to_thread(daemon.kill)
        await asyncio.sleep(self.chance.uniform(0, 1))
        await asyncio.to_thread(daemon.start)
        self.load.up.add(daemon)

    async def stop(self, daemon):
        self.load.up.discard(daemon)
        daemon.pause()
        self.say(f"stops {self.name(daemon)}", "pauses_past_the_lease")
        await asyncio.sleep(self.chance.uniform(6, 8))
        daemon.resume()
        self.load.up.add(daemon)

    async def cut(self, daemon):
        """The daemon serves on with the token that it has."""
        await asyncio.to_thread(daemon.cut)
        self.say(f"cuts {self.name(daemon)} off", "partitions_of_daemons")
        await asyncio.sleep(self.chance.uniform(2, 9))
        await asyncio.to_thread(daemon.heal, self.chance.random() < 0.5)

    # Members.

    async def hurt_members(self, end, members, least, most):
        while await self.is_time(end, least, most):
            async with members:
                if self.chance.random() < 0.5:
                    member = await asyncio.to_thread(self.cluster.leader)
                else:
                    member = self.chance.choice(self.cluster.members)
                blow = self.chance.choice([self.kill_member, self.isolate_member])
                await blow(member)

    async def kill_member(self, member):
        self.say(f"kills {member.name}", "kills_of_members")
        await asyncio.to_thread(self.cluster.kill, member)
        await asyncio.sleep(self.chance.uniform(0, 5))
        await asyncio.to_thread(self.cluster.start, member)

    async def isolate_member(self, member):
        self.say(f"cuts {member.name} off from the others", "partitions_of_members")
        await asyncio.to_thread(self.cluster.isolate, member)
        await asyncio.sleep(self.chance.uniform(1, 8))
        await asyncio.to_thread(self.cluster.rejoin, member)
        await asyncio.to_thread(self.wait_for, member)

    def wait_for(self, member):
        eventually(lambda: self.cluster.is_healthy(member), f"{member.name} is back", 30, 0.1)

    async def change_leader(self, end, members):
        while await self.is_time(end, 5, 12):
            async with members:
                heir = await asyncio.to_thread(self.cluster.move_leader)
                self.say(f"makes {heir.name} the leader", "leader_changes")


def refreshes(records, excuses):
    """The refreshes beyond one per expiry: how many were recoveries, and when the others were."""
    spent = [each for each in records if each["outcome"].startswith("rotated")]
    recoveries, extra = 0, []
    for before, after in pairwise(spent):
        seconds = after["at"] - before["at"]
        if seconds >= SOONEST:
            continue
        holder = before.get("holder")
        if (before["outcome"].endswith("lost") or holder is None
                or excuses.cover(holder, before["at"], after["at"], before=1)):
            recoveries += 1
        else:
            extra.append(f"{seconds:.2f} s after the one before")
    return recoveries, extra


def daemons_and_members(world, endpoint, size, is_shared, namespaces, stack):
    """A cluster, and daemons on it, started."""
    network = stack.enter_context(Network()) if namespaces else None
    relays = None if namespaces else stack.enter_context(Relays())
    places = [network.add() for _ in range(3)] if network else ()
    cluster = stack.enter_context(Cluster(world, relays=relays, places=places))
    key = new_state_key(world)
    daemons = []
    stack.callback(lambda: [each.child.process.kill() for each in daemons
                            if each.child and each.child.running()])
    for _ in range(size):
        place = network.add() if network else None
        if place:
            endpoint.serve_on(place.listener(endpoint.port), place)
        daemons.append(Machine(world, endpoint, cluster, key, relays, place, is_shared=is_shared))
    try:
        daemons[-1].variables |= clock_off_by("+1h")
    except Skipped as skipped:
        print(f"all clocks are right: {skipped}")
    for daemon in daemons:
        daemon.start()
    return cluster, daemons


def blow(world, seconds, seed, size=20, is_shared=False, namespaces=False):
    """One storm. Returns the counts; raises Failure if it did harm."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        endpoint = stack.enter_context(Endpoint(lifetime=LIFETIME, grace=GRACE))
        endpoint.chance = random.Random(chance.random())
        cluster, daemons = daemons_and_members(
            world, endpoint, size, is_shared, namespaces, stack)
        storm = FleetStorm(endpoint, cluster, daemons, chance)
        endpoint.lost_share, endpoint.slowness = LOST_SHARE, 0.1
        asyncio.run(storm.load.during(storm.blow(seconds)))
        endpoint.lost_share = endpoint.slowness = 0.0
        records = list(endpoint.requests)
        alive = [daemon.command("token", "orders", "--refresh").returncode for daemon in daemons]
        values = expect_nothing_readable(cluster)
        for daemon in daemons:
            daemon.__exit__(None, None, None)
        counts = counted(seconds, seed, storm, records)
        print(json.dumps(counts), flush=True)
        try:
            judge(storm, endpoint, records, alive, values)
        except Failure as failure:
            print("\n".join(storm.trace[-60:]))
            raise failure
    return counts


def counted(seconds, seed, storm, records):
    words = [record["outcome"] for record in records]
    load = storm.load
    return {
        "seconds": seconds, "seed": seed, "daemons": len(storm.daemons), "requests": load.total,
        "statuses": {str(status): count for status, count in load.statuses.items()},
        "in_flight_on_a_killed_daemon": load.in_flight_on_killed,
        "failures_that_cannot_be_helped": load.excused,
        "avoidable_failures": len(load.failures),
        "slowest_answer_s": round(load.slowest, 1),
        **storm.counts,
        "token_requests": len(words),
        "rotated": sum(word.startswith("rotated") for word in words),
        "answers_lost": sum(word.endswith("lost") for word in words),
        "repeated_in_the_grace": sum(word.startswith("repeated") for word in words),
        "recoveries_by_rotation": refreshes(records, storm.excuses)[0],
        "reused": words.count("reused"), "api_401": storm.endpoint.refused,
    }


def judge(storm, endpoint, records, alive, values):
    """Raises Failure if harm was done."""
    expect_no_reuse(endpoint)
    equal(alive, [0] * len(storm.daemons), "exit status of a last refresh with each daemon")
    failures = storm.load.failures
    check(not failures, f"{len(failures)} avoidable failures: " + "; ".join(failures[:5]))
    _, extra = refreshes(records, storm.excuses)
    check(not extra, "refreshes beyond one per expiry: " + "; ".join(extra[:5]))
    check(values, "nothing is stored in etcd")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--netproxy", required=True, help="the program under test")
    parser.add_argument("--daemons", type=int, default=20)
    parser.add_argument("--identity", action="store_true",
                        help="two channels of each daemon share the sign-in")
    parser.add_argument("--namespaces", action="store_true",
                        help="real partitions between network namespaces; needs root")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    world = World(os.path.abspath(options.netproxy))
    harm = None
    try:
        blow(world, options.seconds, options.seed, options.daemons, options.identity,
             options.namespaces)
    except (Failure, Skipped) as failure:
        harm = failure
        print(f"FAIL {failure}")
    finally:
        world.stop(keep=harm is not None)
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
