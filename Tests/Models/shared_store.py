"""Checks the protocol by which several daemons share one refresh token, in every order of events.

    python3 Tests/Models/shared_store.py                      # the protocol
    python3 Tests/Models/shared_store.py --holders 3 --faults 1
    python3 Tests/Models/shared_store.py --break no-fence     # what a weaker protocol does wrong
    python3 Tests/Models/shared_store.py --self-test          # the protocol and each weaker one

The model has holders (the daemons), a store with a record and a lock on a lease, and a token
endpoint that rotates. Token n+1 succeeds token n, and each comes with an access token. A spent
token gets the same answer again while its successor is unused; anything else is a reuse. Every
state that can be reached is visited once, breadth first, so a trace is as short as any.
`--rotations` bounds how often the access token expires, `--faults` how many of these happen, at any
point of a renewal:

    crash        the holder comes back with an empty memory; its lease is no longer kept alive
    pause        the holder takes no step until it is resumed; its lease may end
    partition    the holder does not reach the store until that heals; its lease may end
    slow store   the lease of a running holder ends
    lost answer  the endpoint's or the store's: the holder stops waiting, and what it sent is still
                 under way; that arrives at any later point, or never

A crash, pause or partition may also come while a transaction is under way. To be resumed, to heal,
and the arrival of what is under way are steps like any other. The rules:

    reuse      no spent token reaches the endpoint outside of the grace
    newest     the endpoint accepts the record's token; and once no more faults happen, all orders
               of steps lead to the newest token in the record and a usable one in each holder
    backwards  the record never goes back to an older token
    once       there are no more rotations than expiries; with `newest`: one for each expiry
    announced  a spent token in the record is marked by an open intent

What is assumed:

    - Checking the lease and writing the request are one step, and a holder's count of its lease
      ends before the store's does, also when the holder was paused.
    - A request in flight is delivered or dropped before the successor of its token is presented:
      delivery is faster than a token's lifetime. `--break slow-delivery` shows what this is for.
    - The grace lasts as long as the successor is unused.
    - The store's transactions and reads are linearizable, and the store never loses one.
    - A holder that reads back knows its own write from any other, even one with the same content.
    - Each try for the lock has a lease of its own.
    - Pausing or cutting off a holder without a lease only delays it: another order, not a fault.
"""

import argparse
import sys
import time
from collections import deque
from typing import NamedTuple

NO_ONE = FREE = NONE = -1
ABANDONED = -2          # a lock whose lease no holder keeps alive
STEP, FAULT, EXPIRY = range(3)
# What a holder is about to do, or waits for.
IDLE, HELD, ANNOUNCED, ASKING, SAVING, KEEPING, RELEASING = (
    "idle", "held", "announced", "asking", "saving", "keeping", "releasing")
# What became of the record since the holder read it.
UNCHANGED, OWN_WRITE, CHANGED = "unchanged", "own write", "changed"
# Store transactions, and which one a holder sends next.
TAKE, INTENT, SAVE = "take the lock", "store the intent", "save"
TRANSACTION = {IDLE: TAKE, KEEPING: TAKE, HELD: INTENT, SAVING: SAVE}
RULES = {"reuse", "newest", "backwards", "once", "announced"}
# The weaker protocols, and the rule that each is seen to violate.
BREAKS = {
    "no-fence": ("a save compares neither the lock nor the record", "backwards"),
    "no-lease-check": ("a token is presented although the lease has ended", "reuse"),
    "no-intent": ("a token is presented without an intent in the record", "announced"),
    "no-record-revision": ("a transaction compares the lock only", "backwards"),
    "no-read-under-lock": ("the token presented is the one in memory", "reuse"),
    "slow-delivery": ("a request may arrive after its token's successor was presented", "reuse"),
}


class Holder(NamedTuple):
    doing: str = IDLE
    memory: int = NONE          # the token whose access token it uses
    token: int = NONE           # the one to present; from SAVING on, the one received
    record: str = CHANGED
    is_lease_over: bool = False
    has_repeated: bool = False
    is_unsure: bool = False     # its transaction is under way, or the answer to it is lost
    is_paused: bool = False
    is_cut: bool = False        # from the store

    def has_lease(self):
        return not self.is_lease_over and (self.doing not in (IDLE, KEEPING) or self.is_unsure)


class State(NamedTuple):
    holders: tuple
    lock: int = FREE            # or a holder's number, or ABANDONED
    stored: int = 0             # the record's refresh token
    has_intent: bool = False
    newest: int = 0             # the token that the endpoint issued last
    expired: int = -1           # access tokens up to this one are of no use
    requests: tuple = ()        # in flight to the endpoint: (token, the holder that waits)
    writes: tuple = ()          # in flight to the store: (transaction, the holder, token)
    faults: int = 0             # how many more may happen
    is_reused: bool = False

    def having(self, h, **changes):
        """Returns the state with changes to one holder."""
        holder = self.holders[h]._replace(**changes)
        return self._replace(holders=self.holders[:h] + (holder,) + self.holders[h + 1:])

    def idle(self, h, **changes):
        return self.having(h, **Holder(memory=self.holders[h].memory)._asdict() | changes)

    def releasing(self, h, **changes):
        return self.having(h, doing=RELEASING, token=NONE, record=CHANGED, has_repeated=False,
                           **changes)

    def unheard(self, h):
        """Returns the state in which the holder waits for no answer."""
        writes = [(what, NO_ONE if owner == h else owner, token)
                  for what, owner, token in self.writes]
        requests = [(token, NO_ONE if owner == h else owner) for token, owner in self.requests]
        return self._replace(writes=tuple(sorted(writes)), requests=tuple(sorted(requests)))

    def abandoned(self, h, **changes):
        """Returns the state in which the holder has let go of all that it had under way."""
        lock = ABANDONED if self.lock == h else self.lock
        return self._replace(lock=lock).unheard(h).idle(h, **changes)

    def is_usable(self, token):
        return token > self.expired

    def is_settled(self):
        return self.stored == self.newest and all(
            holder.doing == IDLE and self.is_usable(holder.memory) for holder in self.holders)


def without(items, item):
    place = items.index(item)
    return items[:place] + items[place + 1:]


class Protocol:
    """The moves that are possible in a state: (what happens, its kind, the state after it)."""

    def __init__(self, options, broken=None):
        self.options, self.broken = options, broken
        self.steps = {IDLE: self.take_lock, KEEPING: self.take_lock_again, HELD: self.announce,
                      ANNOUNCED: self.present, SAVING: self.save, RELEASING: self.release}
        fence = {"lock"} if broken == "no-record-revision" else {"lock", "record"}
        self.compared = {TAKE: set(), INTENT: fence, SAVE: set() if broken == "no-fence" else fence}

    def first(self):
        return State((Holder(memory=0),) * self.options.holders, faults=self.options.faults)

    def moves(self, state):
        if state.expired < min(state.newest, self.options.rotations - 1):
            yield (f"access token {state.newest} expires", EXPIRY,
                   state._replace(expired=state.newest))
        yield from self.arrivals_at_endpoint(state)
        yield from self.arrivals_at_store(state)
        for h, holder in enumerate(state.holders):
            name = "ABCDEFGH"[h]
            for text, after in self.holder_steps(state, h, holder):
                yield f"{name} {text}", STEP, after
            if state.faults:
                fewer = state._replace(faults=state.faults - 1)
                for text, after in self.holder_faults(fewer, h, holder):
                    yield f"{name} {text}", FAULT, after

    # The endpoint and the store.

    def arrivals_at_endpoint(self, state):
        for token, h in sorted(set(state.requests)):
            after = state._replace(requests=without(state.requests, (token, h)))
            if h == NO_ONE:
                yield f"a request with token {token} is dropped", STEP, after
            answer = token + 1
            if token == state.newest:
                done, after = f"rotates to {answer}", after._replace(newest=answer)
            elif answer == state.newest:
                done = f"answers {answer} again"
            else:
                done, after = "sees a reuse", after._replace(is_reused=True)
            if h != NO_ONE:
                after = after.having(h, doing=SAVING, token=answer, has_repeated=False)
            yield f"the endpoint gets token {token} and {done}", STEP, after

    def arrivals_at_store(self, state):
        if state.lock == ABANDONED or state.lock >= 0 and state.holders[state.lock].is_lease_over:
            yield "the store ends the lease and deletes the lock", STEP, self.unlocked(state)
        for what, h, token in sorted(set(state.writes)):
            after = state._replace(writes=without(state.writes, (what, h, token)))
            yield f"a late transaction ({what}) never arrives", STEP, after
            if what != TAKE:
                after = self.put(after, h, token, what == INTENT, OWN_WRITE)
            elif state.lock == FREE:
                after = after._replace(lock=ABANDONED if h == NO_ONE else h)
            yield f"a late transaction ({what}) arrives", STEP, after

    def is_accepted(self, state, h, what):
        """Whether the comparisons in the holder's transaction hold."""
        compared = self.compared[what]
        return ("lock" not in compared or state.lock == h) and (
            "record" not in compared or state.holders[h].record == UNCHANGED)

    def put(self, state, h, token, has_intent, seen):
        """Returns the state after a write of the record. Each write still under way that compares
        its revision is refused whenever it arrives, so it is forgotten."""
        holders = tuple(holder._replace(record=seen if i == h else CHANGED)
                        for i, holder in enumerate(state.holders))
        return self.forgetting("record", state)._replace(
            holders=holders, stored=token, has_intent=has_intent)

    def unlocked(self, state):
        return self.forgetting("lock", state)._replace(lock=FREE)

    def forgetting(self, compared, state):
        writes = [write for write in state.writes if compared not in self.compared[write[0]]]
        return state._replace(writes=tuple(writes))

    # A renewal, and what a holder does after a fault.

    def holder_steps(self, state, h, holder):
        if holder.is_paused:
            yield "is resumed", state.having(h, is_paused=False)
        if holder.is_cut:
            yield "reaches the store again", state.having(h, is_cut=False)
        if (holder.is_paused or holder.is_cut) and holder.has_lease():
            yield "is past its lease", state.having(h, is_lease_over=True)
        if holder.is_paused or holder.doing == ASKING:
            return
        if holder.is_cut and holder.doing in (IDLE, HELD, RELEASING):
            yield "gives up, the store being away", state.abandoned(h)
        elif not holder.is_cut or holder.doing == ANNOUNCED:
            step = self.read_back if holder.is_unsure else self.steps[holder.doing]
            yield from step(state, h, holder)

    def take_lock(self, state, h, holder):
        if state.is_usable(holder.memory):
            return
        if state.lock == FREE:
            yield (f"takes the lock and reads token {state.stored}",
                   self.held(state._replace(lock=h), h))
        elif state.is_usable(state.stored):
            yield (f"adopts access token {state.stored} without the lock",
                   state.having(h, memory=state.stored))

    def held(self, state, h):
        memory = state.holders[h].memory
        is_from_memory = self.broken == "no-read-under-lock" and memory != NONE
        return state.having(h, doing=HELD, token=memory if is_from_memory else state.stored,
                            record=UNCHANGED)

    def take_lock_again(self, state, h, holder):
        """With a token that is not saved, after the lock was lost."""
        if holder.record == CHANGED and "record" in self.compared[SAVE]:
            yield (f"sees that the record has changed and drops token {holder.token}",
                   state.idle(h, memory=state.stored))
        elif state.lock == FREE:
            yield (f"takes the lock again, to save token {holder.token}",
                   state._replace(lock=h).having(h, doing=SAVING))

    def announce(self, state, h, holder):
        if state.is_usable(holder.token):
            yield (f"adopts access token {holder.token}",
                   state.releasing(h, memory=holder.token))
        elif self.broken == "no-intent":
            yield "stores no intent", state.having(h, doing=ANNOUNCED)
        elif self.is_accepted(state, h, INTENT):
            yield (f"stores its intent for token {holder.token}",
                   self.put(state, h, holder.token, True, UNCHANGED).having(h, doing=ANNOUNCED))
        else:
            yield "cannot store its intent and presents nothing", state.releasing(h)

    def present(self, state, h, holder):
        if holder.is_lease_over and self.broken != "no-lease-check":
            yield "sees that its lease is over and presents nothing", state.releasing(h)
        elif self.broken == "slow-delivery" or all(
                token >= holder.token for token, _ in state.requests):
            requests = tuple(sorted(state.requests + ((holder.token, h),)))
            yield (f"presents token {holder.token}",
                   state._replace(requests=requests).having(h, doing=ASKING))

    def save(self, state, h, holder):
        if self.is_accepted(state, h, SAVE):
            yield (f"saves token {holder.token}",
                   self.put(state, h, holder.token, False, UNCHANGED)
                   .releasing(h, memory=holder.token))
        elif holder.record == CHANGED and "record" in self.compared[SAVE]:
            yield (f"cannot save token {holder.token}, the record has changed: it drops it",
                   state.releasing(h, memory=state.stored))
        else:
            yield (f"cannot save without the lock and keeps token {holder.token}",
                   state.having(h, doing=KEEPING, is_lease_over=False))

    def release(self, state, h, _):
        yield "ends its lease", (self.unlocked(state) if state.lock == h else state).idle(h)

    def read_back(self, state, h, holder):
        what = TRANSACTION[holder.doing]
        is_applied = state.lock == h if what == TAKE else holder.record == OWN_WRITE
        after = state.unheard(h).having(h, is_unsure=False)
        if what == TAKE and not is_applied:
            after = after.having(h, is_lease_over=False)
        elif holder.doing == IDLE:
            after = self.held(after, h)
        elif holder.doing == KEEPING:
            after = after.having(h, doing=SAVING)
        elif is_applied and what == INTENT:
            after = after.having(h, doing=ANNOUNCED, record=UNCHANGED)
        elif is_applied:
            after = after.releasing(h, memory=holder.token)
        yield (f"reads back: the {'lock' if what == TAKE else 'record'} "
               f"{'is' if is_applied else 'is not'} its own", after)

    # What goes wrong.

    def holder_faults(self, state, h, holder):
        if holder != Holder():
            yield "crashes", state.abandoned(h, memory=NONE)
        sent = self.sent(state, h, holder)
        if sent:
            what = TRANSACTION[holder.doing]
            yield f"gets no answer to its transaction ({what})", sent
            yield f"crashes after it sent a transaction ({what})", sent.abandoned(h, memory=NONE)
            yield f"is paused after it sent a transaction ({what})", sent.having(h, is_paused=True)
            yield f"is cut off after it sent a transaction ({what})", sent.having(h, is_cut=True)
        if holder.doing == RELEASING and not holder.is_paused and not holder.is_cut:
            yield "gets no answer to the end of its lease", state.abandoned(h)
        if holder.doing == ASKING and not holder.is_paused:
            after = state.unheard(h)
            yield ("gets no answer from the endpoint",
                   after.releasing(h) if holder.has_repeated
                   else after.having(h, doing=ANNOUNCED, has_repeated=True))
        if holder.doing == IDLE and not holder.is_unsure:
            return
        if not holder.is_paused:
            yield "is paused", state.having(h, is_paused=True)
        if not holder.is_cut:
            yield "is cut off from the store", state.having(h, is_cut=True)
        if not holder.is_paused and not holder.is_cut and holder.has_lease():
            yield "is past its lease, the store being slow", state.having(h, is_lease_over=True)

    def sent(self, state, h, holder):
        """Returns the state in which the holder's next transaction is sent and has not arrived, or
        `None` if it has none to send."""
        what = TRANSACTION.get(holder.doing)
        if what is None or holder.is_unsure or holder.is_paused or holder.is_cut:
            return None
        if holder.doing == IDLE and state.is_usable(holder.memory):
            return None
        if what == INTENT and (self.broken == "no-intent" or state.is_usable(holder.token)):
            return None
        writes = state.writes
        if self.is_accepted(state, h, what):
            token = NONE if what == TAKE else holder.token
            writes = tuple(sorted(writes + ((what, h, token),)))
        return state._replace(writes=writes).having(h, is_unsure=True)


def violations(before, after):
    """Returns the rules that a move from one state to another violates."""
    checks = {"reuse": after.is_reused,
              "backwards": after.stored < before.stored,
              "once": after.newest > after.expired + 1,
              "newest": after.stored < after.newest - 1,
              "announced": after.stored < after.newest and not after.has_intent}
    return {rule for rule, is_violated in checks.items() if is_violated}


class Exploration:
    """All states that a protocol can reach, up to the first violation of one of the rules."""

    def __init__(self, protocol, rules):
        self.protocol, self.rules = protocol, rules
        self.states = [protocol.first()]
        self.came_from = [NONE]
        self.earlier = [[]]     # of each state: those from which one step leads to it
        self.step_count = []    # of each state: the steps that it allows
        self.transitions = 0
        self.violated, self.trace = self.explore() or self.find_dead_end() or (None, [])

    def explore(self):
        number = {self.states[0]: 0}
        for place, state in enumerate(self.states):     # which grows
            next_places = set()
            for _, kind, after in self.protocol.moves(state):
                self.transitions += 1
                if after not in number:
                    number[after] = len(self.states)
                    self.states.append(after)
                    self.came_from.append(place)
                    self.earlier.append([])
                for rule in sorted(violations(state, after) & self.rules):
                    return rule, self.trace_to(place) + [(state, after)]
                if kind == STEP:
                    next_places.add(number[after])
            for next_place in next_places:
                self.earlier[next_place].append(place)
            self.step_count.append(len(next_places))
        return None

    def find_dead_end(self):
        """Returns the trace to a state from which some order of steps settles nothing: a state is
        good if it is settled, or if it allows steps and all of them lead to good states."""
        if "newest" not in self.rules:
            return None
        steps_left = list(self.step_count)
        is_good = [state.is_settled() for state in self.states]
        queue = deque(place for place, is_settled in enumerate(is_good) if is_settled)
        while queue:
            for place in self.earlier[queue.popleft()]:
                steps_left[place] -= 1
                if steps_left[place] == 0 and not is_good[place]:
                    is_good[place] = True
                    queue.append(place)
        return None if all(is_good) else ("newest", self.trace_to(is_good.index(False)))

    def trace_to(self, place):
        pairs = []
        while self.came_from[place] != NONE:
            pairs.append((self.states[self.came_from[place]], self.states[place]))
            place = self.came_from[place]
        return pairs[::-1]

    def story(self):
        """Returns the trace in words, a line for each move."""
        return [next(text for text, _, state in self.protocol.moves(before) if state == after)
                for before, after in self.trace]


def is_as_expected(options, broken):
    """Explores one protocol and prints what came of it; returns whether that is as it must be."""
    meaning, expected = BREAKS[broken] if broken else ("as it is", None)
    started = time.monotonic()
    exploration = Exploration(Protocol(options, broken), {expected} if broken else RULES)
    print(f"{broken or 'the protocol'} ({meaning}): {len(exploration.states)} states, "
          f"{exploration.transitions} transitions, {time.monotonic() - started:.1f} s")
    if exploration.violated:
        print(f"    violates the rule `{exploration.violated}`:")
        for place, text in enumerate(exploration.story(), 1):
            print(f"    {place:3}. {text}")
    else:
        print("    every rule holds" if not broken else f"    the rule `{expected}` holds")
    return exploration.violated == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--holders", "--faults", "--rotations"):
        parser.add_argument(option, type=int, default=2, help="default 2")
    parser.add_argument("--break", dest="broken", choices=BREAKS)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    protocols = [None, *BREAKS] if options.self_test else [options.broken]
    return 0 if all([is_as_expected(options, broken) for broken in protocols]) else 1


if __name__ == "__main__":
    sys.exit(main())
