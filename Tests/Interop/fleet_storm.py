#!/usr/bin/env python3
"""Many machines use one rotating refresh token in etcd while faults occur.

    fleet_storm.py SECONDS --netproxy PATH [--daemons N] [--identity] [--namespaces] [--seed N]

The daemons' tokens are in an etcd of three members. The token endpoint rotates, is slow at random and loses
5 % of its responses. A client with bounded concurrency sends requests to all daemons. Meanwhile:

 - daemons are killed, many of them during a token request, and restarted;
 - the daemon with a token request is stopped (SIGSTOP) beyond its lease of 5 s;
 - daemons are disconnected from all members, and their messages arrive late or never;
 - members are killed and restarted, stopped (SIGSTOP), and disconnected from the others, one at a time;
 - the leader changes;
 - one daemon's clock is an hour fast.

Relays create the partitions. With --namespaces every program is in a network namespace, and packets are
dropped or a link is down.

A failed client request is avoidable unless its daemon was killed, stopped or disconnected from etcd during
the request or in the 5 s before it began. The members always have a quorum. A missing member, a change of the
leader or the death of another daemon with the lock is no excuse. Each of these events makes all other daemons
wait for up to 6 s. Because a request waits for 15 s, at most two of them occur within 12 s, and none affects
a daemon that resolves the state left by the previous one.

A refresh is superfluous if it occurs less than 1.5 s after the previous one for the same audience: tokens
live for 3 s and are due 2 s after their request, and a busy machine may take half a second to notice a
request. It is a recovery, and not superfluous, if the previous response was lost, or the daemon of the
previous refresh was killed, stopped or disconnected.

Prints the counts. Exits with 1 if a failure was avoidable, a used refresh token was presented outside the
grace window, a refresh was superfluous, the session is dead at the end, or a secret is readable in etcd.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from contextlib import ExitStack, contextmanager
from itertools import chain, pairwise

from endpoint import Endpoint, expect_no_reuse
from etcd import Cluster
from fleet import Load
from harness import Failure, check, equal, eventually
from machines import Machine, can_shift_clocks, expect_nothing_readable, new_state_key
from namespaces import Network
from relay import Relays, owner_of
from world import run_alone

LIFETIME = 3.0
GRACE = 30.0
LOST_SHARE = 0.05
HOUR = 3600
# The maximum recovery time of a daemon after a fault.
CONVALESCENCE = 5.0
# A daemon that dies with the lock keeps it for 5 s, and each change of the leader adds 5 s.
MOST_DELAYS, DELAYS_WITHIN = 2, 12
# Tokens are due 2 s after their request; the first of two requests can be noticed late.
SOONEST = 1.5


class Excuses:
    """The times at which each daemon was affected by a fault."""

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
        """Whether the daemon was affected during the time, or shortly before it."""
        return any(begin <= ended and began - before <= end
                   for begin, end in self.times.get(daemon, []))


class Delays:
    """Limits the faults that make all daemons wait."""

    def __init__(self):
        self.times = []

    def has_room(self, count=1):
        """Whether the given number of further faults is allowed now; if so, counts them."""
        now = time.monotonic()
        self.times = [each for each in self.times if now - each < DELAYS_WITHIN]
        if len(self.times) + count > MOST_DELAYS:
            return False
        self.times += [now] * count
        return True

    async def room(self, count=1):
        """Waits until the given number of further faults is allowed."""
        while not self.has_room(count):
            await asyncio.sleep(0.2)


class ExcusingLoad(Load):
    """A load that does not count unavoidable errors as failures."""

    def __init__(self, daemons, excuses, **keys):
        super().__init__(daemons, **keys)
        self.excuses, self.excused = excuses, 0
        # The times of the failures.
        self.when = []

    def note(self, daemon, began, status, text):
        failures = len(self.failures)
        super().note(daemon, began, status, text)
        if len(self.failures) > failures:
            now = time.monotonic()
            if now - began < self.LONGEST and self.excuses.cover(daemon, began, now):
                self.failures.pop()
                self.excused += 1
            else:
                text = " ".join(self.failures[-1].split())
                self.failures[-1] = f"daemon {self.daemons.index(daemon)}: {text}"
                self.when.append(time.monotonic())


class FleetStorm:
    """The faults of daemons, members and the token endpoint."""

    def __init__(self, endpoint, cluster, daemons, chance):
        self.endpoint, self.cluster, self.daemons = endpoint, cluster, daemons
        self.chance = chance
        self.excuses = Excuses()
        self.load = ExcusingLoad(daemons, self.excuses, connections=10, pause=0.05)
        self.hurt_now, self.blows = set(), []
        self.members = asyncio.Lock()
        self.delays = Delays()
        self.counts = dict.fromkeys(
            ("kills_of_daemons", "pauses_past_the_lease", "partitions_of_daemons",
             "kills_of_members", "pauses_of_members", "partitions_of_members",
             "leader_changes"), 0)
        self.trace = []
        self.waiting = set()
        endpoint.on_arrival = self.on_arrival

    def on_arrival(self, record):
        """Determines the sender of the token request while its connection is open."""
        if record["place"]:
            holder = next(each for each in self.daemons if each.place is record["place"])
        else:
            by_pid = {each.child.pid: each for each in self.daemons}
            holder = by_pid.get(owner_of(record["port"], by_pid))
        record["holder"] = holder
        for loop, queue in list(self.waiting) if holder else ():
            loop.call_soon_threadsafe(queue.put_nowait, record)

    async def next_request(self, patience):
        """Returns the next token request; `None` if none arrives in time."""
        entry = (asyncio.get_running_loop(), asyncio.Queue())
        self.waiting.add(entry)
        try:
            return await asyncio.wait_for(entry[1].get(), patience)
        except TimeoutError:
            return None
        finally:
            self.waiting.discard(entry)

    async def blow(self, seconds):
        end = time.monotonic() + seconds
        await asyncio.gather(self.hurt_the_idle(end), self.delay_all(end))

    async def hurt_the_idle(self, end):
        """Causes faults that do not affect other daemons."""
        while await self.is_time(end, 1, 4):
            blow = self.chance.choices([self.kill, self.cut, self.kill_a_follower], [5, 2, 1])[0]
            if blow == self.kill_a_follower:
                self.begin(blow())
            elif idle := self.idle():
                self.begin(self.hurt(self.chance.choice(idle), blow))
        await asyncio.gather(*self.blows)

    async def delay_all(self, end):
        """Causes faults that affect other daemons: two at a time, and all kinds in turn."""
        kinds = [self.stop_leader, self.isolate_leader, self.kill_leader, self.isolate_a_follower,
                 lambda: self.hurt_holder(self.cut), self.change_leader,
                 lambda: self.hurt_holder(self.kill), lambda: self.hurt_holder(self.stop)]
        turn, both = list(kinds), asyncio.Semaphore(2)
        while await self.is_time(end, 0, 2):
            await both.acquire()
            turn = turn or self.chance.sample(kinds, len(kinds))
            if time.monotonic() < end:
                self.begin(turn.pop()()).add_done_callback(lambda _: both.release())
        await asyncio.gather(*self.blows)

    def begin(self, blow):
        self.blows.append(asyncio.create_task(blow))
        return self.blows[-1]

    async def is_time(self, end, least, most):
        """Whether there is time for another fault after a pause."""
        await asyncio.sleep(min(self.chance.uniform(least, most), max(0, end - time.monotonic())))
        return time.monotonic() < end

    def say(self, what, count=None):
        self.trace.append((time.monotonic(), what))
        if count:
            self.counts[count] += 1

    def name(self, daemon):
        return f"daemon {self.daemons.index(daemon)}" if daemon else "unknown"

    def story(self, records):
        """Returns the events in order, with the seconds since the beginning."""
        events = self.trace + list(zip(self.load.when, self.load.failures))
        for each in records:
            events.append((each["at"], f"{self.name(each.get('holder'))} presents "
                                       f"{each['presented'].split('-')[0]}: {each['outcome']}"))
        first = min(at for at, _ in events)
        return [f"{at - first:6.2f} {what}" for at, what in sorted(events)]

    # Daemons.

    async def hurt(self, daemon, blow):
        self.hurt_now.add(daemon)
        with self.excuses.during(daemon):
            await blow(daemon)
        self.hurt_now.discard(daemon)

    async def hurt_holder(self, blow):
        """Affects a daemon that begins a token request, unless it resolves the state left by another."""
        patience = time.monotonic() + 15
        while record := await self.next_request(patience - time.monotonic()):
            holder = record["holder"]
            is_first = self.endpoint.presented().count(record["presented"]) == 1
            if holder not in self.hurt_now and is_first and self.delays.has_room():
                return await self.hurt(holder, blow)

    def idle(self):
        """Returns the daemons that are healthy and have no token request in progress."""
        busy = {each["holder"] for each in list(self.endpoint.requests)
                if each["outcome"] == "arrived" and "holder" in each}
        return [each for each in self.daemons if each not in self.hurt_now | busy]

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
        """Disconnects the daemon, which continues to serve with its token."""
        await asyncio.to_thread(daemon.cut)
        self.say(f"cuts {self.name(daemon)} off", "partitions_of_daemons")
        await asyncio.sleep(self.chance.uniform(2, 9))
        await asyncio.to_thread(daemon.heal, self.chance.random() < 0.5)

    # Members.

    async def leader(self):
        return await asyncio.to_thread(self.cluster.leader)

    async def follower(self):
        leader = await self.leader()
        return self.chance.choice([e for e in self.cluster.members if e is not leader])

    async def kill_leader(self):
        async with self.members:
            await self.delays.room()
            await self.kill_member(await self.leader())

    async def kill_a_follower(self):
        async with self.members:
            await self.kill_member(await self.follower())

    async def isolate_leader(self):
        """Causes one election, and another when the leader returns."""
        async with self.members:
            await self.delays.room(2)
            await self.isolate_member(await self.leader())

    async def stop_leader(self):
        """Stops the leader; its clients' connections stay open without responses."""
        async with self.members:
            await self.delays.room(2)
            member = await self.leader()
            self.say(f"stops {member.name}", "pauses_of_members")
            self.cluster.pause(member)
            await asyncio.sleep(self.chance.uniform(2, 6))
            self.cluster.resume(member)
            await asyncio.to_thread(self.wait_for, member)

    async def isolate_a_follower(self):
        """Isolates a follower, which causes an election when it returns."""
        async with self.members:
            await self.delays.room()
            await self.isolate_member(await self.follower())

    async def change_leader(self):
        async with self.members:
            await self.delays.room()
            heir = await asyncio.to_thread(self.cluster.move_leader)
            self.say(f"makes {heir.name} the leader", "leader_changes")

    async def kill_member(self, member):
        self.say(f"kills {member.name}", "kills_of_members")
        await asyncio.to_thread(self.cluster.kill, member)
        await asyncio.sleep(self.chance.uniform(0, 4))
        await asyncio.to_thread(self.cluster.start, member)

    async def isolate_member(self, member):
        self.say(f"cuts {member.name} off from the others", "partitions_of_members")
        await asyncio.to_thread(self.cluster.isolate, member)
        await asyncio.sleep(self.chance.uniform(1, 5))
        await asyncio.to_thread(self.cluster.rejoin, member)
        await asyncio.to_thread(self.wait_for, member)

    def wait_for(self, member):
        eventually(lambda: self.cluster.is_healthy(member), f"{member.name} is back", 30, 0.1)


def refreshes(records, excuses):
    """Returns the refreshes beyond one per expiry: the number of recoveries, and the times of the others."""
    spent = [each for each in records if each["outcome"].startswith("rotated")]
    by_audience = [[each for each in spent if each["audience"] == audience]
                   for audience in {each["audience"] for each in spent}]
    recoveries, extra = 0, []
    for before, after in chain.from_iterable(map(pairwise, by_audience)):
        seconds = after["arrived"] - before["arrived"]
        if seconds >= SOONEST:
            continue
        holder = before.get("holder")
        if (before["outcome"].endswith("lost") or holder is None
                or excuses.cover(holder, before["arrived"], after["arrived"], before=1)):
            recoveries += 1
        else:
            extra.append(f"of {after['presented'].split('-')[0]}, {seconds:.2f} s after it was new")
    return recoveries, extra


def daemons_and_members(world, endpoint, size, is_shared, namespaces, skewed, stack):
    """Starts a cluster and daemons that use it."""
    network = stack.enter_context(Network()) if namespaces else None
    relays = None if namespaces else stack.enter_context(Relays())
    places = [network.add() for _ in range(3)] if network else ()
    cluster = stack.enter_context(Cluster(world, relays=relays, places=places))
    key = new_state_key(world)
    daemons = []
    stack.callback(lambda: [each.child.process.kill() for each in daemons
                            if each.child and each.child.running()])
    for number in range(size):
        place = network.add() if network else None
        if place:
            endpoint.serve_on(place.listener(endpoint.port), place)
        clock = HOUR if number < skewed and can_shift_clocks() else 0
        daemons.append(Machine(world, endpoint, cluster, key, relays, place, clock,
                               is_shared=is_shared))
    for daemon in daemons:
        daemon.start()
    return cluster, daemons


def blow(world, seconds, seed, size=20, is_shared=False, namespaces=False, skewed=1):
    """Runs one storm. Returns the counts; raises Failure if it did harm."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        endpoint = stack.enter_context(Endpoint(lifetime=LIFETIME, grace=GRACE))
        endpoint.chance = random.Random(chance.random())
        cluster, daemons = daemons_and_members(
            world, endpoint, size, is_shared, namespaces, skewed, stack)
        storm = FleetStorm(endpoint, cluster, daemons, chance)
        endpoint.lost_share, endpoint.slowness = LOST_SHARE, 0.1
        asyncio.run(storm.load.during(storm.blow(seconds)))
        endpoint.lost_share = endpoint.slowness = 0.0
        records = list(endpoint.requests)
        alive = [last_refresh(daemon) for daemon in daemons]
        values = expect_nothing_readable(cluster)
        for daemon in daemons:
            daemon.__exit__(None, None, None)
        counts = counted(seconds, seed, storm, records)
        print(json.dumps(counts), flush=True)
        try:
            judge(storm, endpoint, records, alive, values)
        except Failure:
            print("\n".join(storm.story(records)))
            raise
    return counts


def last_refresh(daemon):
    """Returns the reason why the daemon cannot renew within the recovery time of the members; empty if it
    can."""
    for _ in range(5):
        done = daemon.command("token", "orders", "--refresh")
        if done.returncode == 0:
            return ""
        time.sleep(1)
    return done.stderr


def counted(seconds, seed, storm, records):
    words = [record["outcome"] for record in records]
    load = storm.load
    return {
        "seconds": seconds, "seed": seed, "daemons": len(storm.daemons),
        "clocks_an_hour_fast": sum(daemon.clock == HOUR for daemon in storm.daemons),
        "requests": load.total,
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
    equal(alive, [""] * len(storm.daemons), "what a last refresh with each daemon fails with")
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
    parser.add_argument("--skewed", type=int, default=1,
                        help="daemons whose clock is an hour fast; 1 by default")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    return run_alone(options.netproxy, lambda world: blow(
        world, options.seconds, options.seed, options.daemons, options.identity,
        options.namespaces, options.skewed))


if __name__ == "__main__":
    sys.exit(main())
