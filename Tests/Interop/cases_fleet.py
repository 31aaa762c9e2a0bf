"""Several daemons on one state directory, like on a machine with one instance per user group."""

import asyncio
import os
import random
from contextlib import ExitStack

import storm
from endpoint import Endpoint, expect_no_reuse
from fleet import Load, Mortal
from harness import case, check, equal

LIFETIME = 3.0
# Callers wait for the next token in the last second of a token that lives 3 s; with such a short lifetime,
# the early renewal begins at the same time.
RENEWED_AFTER = 2.0
SECONDS = 12


def fleet_under_load(world, size):
    state = world.path(world.unique("state"))
    os.mkdir(state, mode=0o700)
    with Endpoint(lifetime=LIFETIME) as endpoint:
        daemons = [Mortal(world, endpoint, state=state) for _ in range(size)]
        with ExitStack() as running:
            for daemon in daemons:
                running.enter_context(daemon)
            refresh_once_per_expiry(endpoint, daemons, SECONDS)


def refresh_once_per_expiry(endpoint, daemons, seconds):
    """Loads daemons that share a sign-in whose tokens live for LIFETIME; fails unless exactly one of them
    refreshes it once per expiry."""
    load = Load(daemons, connections=4 * len(daemons), pause=0.005)
    asyncio.run(load.during(asyncio.sleep(seconds)))
    expect_no_reuse(endpoint)
    equal(load.failures, [], "failed requests")
    equal(endpoint.refused, 0, "requests with a token that is not good any more")
    equal(set(endpoint.outcomes()), {"rotated"}, "what became of the token requests")
    # Each refresh is sent at least 2 s after the previous one, by any daemon.
    spent = endpoint.rotations()
    bound = 1 + (spent[-1] - spent[0] + 1.5) / RENEWED_AFTER
    check(len(spent) <= bound,
          f"{len(spent)} refreshes in {spent[-1] - spent[0]:.1f} s, at most {bound:.1f} allowed")
    # The tokens must have expired often enough for the result to be meaningful.
    check(len(spent) >= 3, f"only {len(spent)} refreshes in {seconds} s")
    check(load.total >= 100 * len(daemons), f"only {load.total} requests: that is no load")


@case
def two_daemons_on_one_state_directory_refresh_once_per_expiry(world):
    fleet_under_load(world, 2)


@case
def four_daemons_on_one_state_directory_refresh_once_per_expiry(world):
    fleet_under_load(world, 4)


@case
def a_storm_on_a_rotating_refresh_token_does_no_harm(world):
    """A storm of half a minute; `storm.py 600` is the long version."""
    storm.blow(world, 30, random.randrange(1 << 32))


@case
def a_storm_on_an_identity_of_two_channels_does_no_harm(world):
    """The same with two channels of each daemon that share the sign-in, one of them with fewer scopes."""
    storm.blow(world, 30, random.randrange(1 << 32), is_shared=True)
