"""One sign-in for many machines: tokens in etcd, all parts of which can fail."""

import json
import os
import random
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import fleet_storm
from cases_crash import Refreshing, expect_ok, get
from cases_fleet import refresh_once_per_expiry
from endpoint import Endpoint, expect_no_reuse
from etcd import Certificates, Cluster
from fleet import Mortal, grant_of
from harness import case, check, equal, eventually
from machines import (
    LOCK, RECORD, Machine, expect_nothing_readable, key_setting, new_state_key, state_in)
from proxy import Netproxy
from relay import Relays
from traffic import problem_of


class Site(ExitStack):
    """An endpoint, a cluster and its machines, for one case; all end with the case."""

    def __init__(self, world, lifetime=60.0, grace=30.0, **cluster):
        super().__init__()
        self.world = world
        self.endpoint = self.enter_context(Endpoint(lifetime=lifetime, grace=grace))
        self.relays = self.enter_context(Relays())
        self.cluster = self.enter_context(Cluster(world, **cluster))
        self.state_key = new_state_key(world)

    def made(self, is_relayed=False, state_key=None, **keys):
        """Returns a machine that is not started."""
        return Machine(self.world, self.endpoint, self.cluster, state_key or self.state_key,
                       self.relays if is_relayed else None, **keys)

    def machine(self, **keys):
        """Starts a machine, which must exit with 0 and have leaked nothing."""
        return self.enter_context(self.made(**keys))

    def machines(self, count, **keys):
        return [self.machine(**keys) for _ in range(count)]

    def outcomes(self):
        return self.endpoint.outcomes()


def expect_unavailable(machine, words, path="/orders/1"):
    """Waits until a client gets an error for the missing token with all of the words; each is a word or a
    tuple of alternatives."""
    def probe():
        answer = get(machine, path)
        check(answer.status in (200, 503), f"status ({answer})")
        return answer if answer.status == 503 else None

    answer = eventually(probe, "the app is told", 25, 0.1)
    problem = problem_of(answer)
    equal(problem["type"], "urn:netproxy:error:credential_unavailable", "problem type")
    check(answer.fields.get("retry-after", "").isdigit(), f"Retry-After: {answer.fields}")
    for word in ("etcd", *words):
        wanted = [word] if isinstance(word, str) else word
        check(any(each in problem["detail"] for each in wanted),
              f"{word!r} is not in: {problem['detail']}")


def generation(machine):
    """Returns the generation of the machine's token."""
    channel, = json.loads(machine.command("status", "--json").stdout)["channels"]
    return channel["token"]["generation"]


def expect_recovery(machine, seconds=20):
    """Waits until the client gets successful responses again."""
    eventually(lambda: get(machine).status == 200, "it recovers by itself", seconds, 0.1)


def refresh(machine):
    done = machine.command("token", "orders", "--refresh")
    equal(done.returncode, 0, f"netproxy token --refresh ({done.stderr})")


def at_once(functions):
    """Runs all functions at the same time, and returns their results."""
    barrier = threading.Barrier(len(functions))

    def run(function):
        barrier.wait(20)
        return function()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [each.result() for each in [pool.submit(run, function) for function in functions]]


# Normal operation.


@case
def eight_machines_that_boot_together_make_one_token_request(world):
    """Any number of machines start at the same time, each with a request to serve."""
    with Site(world) as site:
        machines = [site.made() for _ in range(8)]

        def boot(machine):
            site.enter_context(machine)
            return get(machine).status

        statuses = at_once([lambda machine=each: boot(machine) for each in machines])
        equal(statuses, [200] * 8, "what the apps got")
        equal(site.outcomes(), ["rotated"], "token requests")


@case
def two_machines_refresh_once_per_expiry_over_etcd(world):
    with Site(world, lifetime=3.0) as site:
        refresh_once_per_expiry(site.endpoint, site.machines(2), seconds=9)


@case
def machines_whose_clocks_are_an_hour_off_refresh_once_per_expiry(world):
    """One clock is an hour fast and one an hour slow; tokens stored by others are neither expired for the
    one nor fresh for the other."""
    # Without TLS: a slow clock would reject certificates that were created a minute ago.
    with Site(world, lifetime=3.0, tls=False) as site:
        machines = [site.machine(clock=clock) for clock in (0, 3600, -3600)]
        refresh_once_per_expiry(site.endpoint, machines, seconds=9)


@case
def nothing_in_etcd_is_readable(world):
    """No secret and no token is readable, in plain text or base64, during a renewal and after it."""
    with Site(world) as site:
        machine = site.machine()
        expect_ok(machine)
        eventually(lambda: LOCK not in site.cluster.values("/"), "the first lock is gone")
        values = expect_nothing_readable(site.cluster)
        equal(list(values), [RECORD], "what is stored")
        site.endpoint.after.close()
        refreshing = Refreshing(machine)
        site.endpoint.after.wait_for_somebody("the token request")
        values = expect_nothing_readable(site.cluster)
        equal(sorted(values), [LOCK, RECORD], "what is stored meanwhile")
        site.endpoint.after.open()
        refreshing.end()
        eventually(lambda: LOCK not in site.cluster.values("/"), "the lock is gone")
        expect_nothing_readable(site.cluster)


@case
def a_watch_brings_the_token_of_another_machine(world):
    """The old token is revoked and one machine renews it. The next request of the other machine uses the
    new token, without a 401 and without a token request."""
    with Site(world) as site:
        one, other = site.machines(2)
        for machine in (one, other):
            expect_ok(machine)
        for number in range(2, 6):
            before = generation(other)
            site.endpoint.revoke()
            refresh(one)
            eventually(lambda before=before: generation(other) > before, "the watch brings it")
            expect_ok(other)
            equal(site.outcomes(), ["rotated"] * number, "token requests")
        equal(site.endpoint.refused, 0, "requests with the old token")


@case
def a_watch_that_is_dead_without_a_word_costs_one_401(world):
    """The connections of a machine to etcd are silently dead, as after the restart of a router, but new
    ones work. The machine finds the token renewed by another machine at the first 401."""
    with Site(world) as site:
        one, other = site.machine(), site.machine(is_relayed=True)
        for machine in (one, other):
            expect_ok(machine)
        other.valve.strand()
        site.endpoint.revoke()
        refresh(one)
        expect_ok(other)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests")
        # It can also renew by itself.
        refresh(other)
        expect_ok(one)
        equal(site.outcomes(), ["rotated"] * 3, "token requests in the end")


@case
def machines_share_the_tokens_of_an_identity_that_shares(world):
    """`share: true` with the client's own credentials; without it, every machine would request its own
    token."""
    with Site(world) as site:
        grant = {**grant_of(site.endpoint, world), "grant": "client_credentials"}
        del grant["refresh_token"]
        channels = {"orders": {"upstream": site.endpoint.base + "/api",
                               "auth": {"identity": "app"}}}
        for is_shared, outcomes in ((True, ["issued"]), (False, ["issued"] * 3)):
            for _ in range(2):
                machine = Netproxy(
                    world, channels, identities={"app": {"oauth": grant, "share": is_shared}},
                    state=state_in(site.cluster), state_key=key_setting(site.state_key))
                machine.secret_sources.append(site.endpoint)
                site.enter_context(machine)
                expect_ok(machine)
            equal(site.outcomes(), outcomes, f"token requests with share: {is_shared}")


# Faults of etcd.


@case
def without_a_quorum_the_token_in_hand_serves_until_it_expires(world):
    """Two of three members have stopped: clients get an error, no renewal happens without a record, and
    the machine recovers when the members return."""
    with Site(world, lifetime=5) as site:
        machine = site.machine()
        expect_ok(machine)
        began = time.monotonic()
        site.cluster.kill(*site.cluster.members[:2])
        while time.monotonic() < began + 2.5:
            expect_ok(machine)
            time.sleep(0.1)
        expect_unavailable(machine, [])
        done = machine.command("status")
        check("etcd" in done.stdout, f"status does not name etcd: {done.stdout}")
        equal(site.outcomes(), ["rotated"], "token requests without a quorum")
        site.cluster.start()
        expect_recovery(machine)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests in the end")


@case
def a_machine_that_is_cut_off_is_told_and_the_others_renew(world):
    """A machine without a connection uses its token until it expires, and has the others' token after it
    reconnects."""
    with Site(world, lifetime=6) as site, ThreadPoolExecutor(1) as apps:
        lonely, other = site.machine(is_relayed=True), site.machine()
        for machine in (lonely, other):
            expect_ok(machine)
        lonely.cut()
        expect_ok(lonely)
        told = apps.submit(expect_unavailable, lonely, [])
        while not told.done():
            expect_ok(other)
            time.sleep(0.1)
        told.result()
        check("etcd" in lonely.command("status").stdout, "status names etcd")
        count = len(site.outcomes())
        check(count >= 2, f"the other one renewed: {site.outcomes()}")
        expect_ok(other)
        lonely.heal()
        expect_recovery(lonely)
        equal(set(site.outcomes()), {"rotated"}, "token requests")
        check(len(site.outcomes()) <= count + 2, f"{site.outcomes()} after {count}")


@case
def an_intent_that_is_recorded_too_late_presents_nothing(world):
    """The machine has the lock, but the confirmation of its intent arrives only after its lease has
    expired and another machine has renewed. It presents no token and uses the other's."""
    with Site(world, grace=0, tls=False) as site:
        late, other = site.machine(is_relayed=True), site.machine()
        for machine in (late, other):
            expect_ok(machine)
        late.valve.cut_behind(b"/v3/kv/txn", times=2)
        refreshing = Refreshing(late)
        check(late.valve.was_sprung.wait(10), "the intent is on its way")
        refresh(other)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests while it is cut off")
        late.heal()
        refreshing.end()
        site.endpoint.revoke()
        refresh(other)
        expect_ok(late)
        equal(set(site.outcomes()), {"rotated"}, "token requests in the end")
        expect_no_reuse(site.endpoint)


@case
def a_token_that_could_not_be_saved_is_saved_later(world):
    """The machine is disconnected between the token response and the record, for longer than its lease.
    Nobody has renewed since: it saves the token then, and the next renewal presents its successor."""
    with Site(world, grace=0) as site:
        machine, other = site.machine(is_relayed=True), site.machine()
        for each in (machine, other):
            expect_ok(each)
        site.endpoint.after.close()
        refreshing = Refreshing(machine)
        site.endpoint.after.wait_for_somebody("the token request")
        before = site.cluster.values(RECORD)
        machine.cut()
        site.endpoint.after.open()
        eventually(lambda: LOCK not in site.cluster.values("/"), "its lease ends", 15, 0.1)
        expect_ok(machine)
        equal(site.cluster.values(RECORD), before, "the record while it is cut off")
        machine.heal()
        eventually(lambda: site.cluster.values(RECORD) != before, "it saves", 20, 0.1)
        refreshing.end()
        refresh(other)
        equal(site.outcomes(), ["rotated"] * 3, "token requests")
        expect_ok(machine)


@case
def a_token_that_another_machine_has_got_again_wins(world):
    """In addition, another machine receives the same response again in the grace window and continues from
    there; the first machine discards its token."""
    with Site(world) as site:
        machine, other = site.machine(is_relayed=True), site.machine()
        for each in (machine, other):
            expect_ok(each)
        site.endpoint.after.close()
        refreshing = Refreshing(machine)
        site.endpoint.after.wait_for_somebody("the token request")
        machine.cut()
        site.endpoint.after.open()
        refresh(other)
        refresh(other)
        equal(site.outcomes(), ["rotated", "rotated", "repeated", "rotated"], "token requests")
        machine.heal()
        refreshing.end()
        site.endpoint.revoke()
        refresh(machine)
        for each in (machine, other):
            expect_ok(each)
        equal(site.outcomes()[4:], ["rotated"], "token requests in the end")
        expect_no_reuse(site.endpoint)


@case
def etcd_that_is_full_is_named_and_renews_nothing(world):
    """The quota is used up, and etcd accepts no writes (NOSPACE)."""
    with Site(world, lifetime=10, quota=2 << 20) as site:
        machine = site.machine()
        expect_ok(machine)
        site.cluster.fill()
        expect_ok(machine)
        expect_unavailable(machine, [("full", "space")])
        equal(site.outcomes(), ["rotated"], "token requests of a full etcd")
        site.cluster.make_room()
        expect_recovery(machine)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests in the end")


@case
def certificates_that_do_not_fit_are_named(world):
    """A client certificate of another CA, and a CA that did not sign etcd's certificate. `state` takes
    effect at the next start, after which everything works."""
    with Site(world) as site:
        strange = Certificates(world, [])
        certificate, key = strange.client
        for wrong in ({"client_certificate": certificate, "client_key": key}, {"ca": strange.ca}):
            before = site.outcomes()
            machine = site.machine(etcd=wrong)
            expect_unavailable(machine, ["certificate"])
            equal(site.outcomes(), before, f"token requests with the wrong {list(wrong)[0]}")
            machine.config["state"] = state_in(site.cluster)
            equal(machine.stop(), 0, "exit status")
            machine.start()
            expect_ok(machine)
        equal(site.outcomes(), ["rotated"], "token requests in the end")


USER, PASSWORD = "netproxy", "the-password-of-netproxy"


@case
def a_user_of_etcd_may_use_its_prefix_and_no_other(world):
    """etcd's own users and roles. The error for a prefix without permission names it, and the prefix works
    as soon as it is permitted; the same applies to a wrong password. An expired login is renewed."""
    with Site(world, lifetime=4, flags=["--auth-token-ttl", "2"]) as site:
        site.cluster.enable_auth(USER, PASSWORD, "/other/")
        login = {"user": USER, "password": "file:" + world.secret_file(PASSWORD)}
        machine = site.machine(etcd=login)
        expect_unavailable(machine, [("denied", "permission")])
        wrong = {**login, "password": "file:" + world.secret_file("not-the-password")}
        with site.made(etcd=wrong) as fraud:
            expect_unavailable(fraud, [("denied", "password", "authentication")])
        equal(site.outcomes(), [], "token requests without permission")
        site.cluster.sign_in()
        site.cluster.permit(USER, "/netproxy/")
        expect_recovery(machine)
        began = time.monotonic()
        while time.monotonic() < began + 9:
            expect_ok(machine)
            time.sleep(0.1)
        check(len(site.outcomes()) >= 3, f"it has renewed: {site.outcomes()}")


@case
def a_client_certificate_with_a_name_and_users_is_named(world):
    """With users enabled, etcd's gateway refuses client certificates that have a common name, in a text
    that is not JSON. The client's log contains the text."""
    with Site(world) as site:
        site.cluster.enable_auth(USER, PASSWORD, "/netproxy/")
        named = site.cluster.certificates.issue(
            "named", "/CN=netproxy", "extendedKeyUsage=clientAuth\n")
        machine = site.machine(etcd={
            "user": USER, "password": "file:" + world.secret_file(PASSWORD),
            "client_certificate": named[0], "client_key": named[1]})
        expect_unavailable(machine, [("CommonName", "common name")])
        equal(site.outcomes(), [], "token requests")


@case
def a_record_of_another_program_is_left_alone(world):
    """A record of another program is neither used nor replaced; clients get an error until it is removed."""
    with Site(world) as site:
        for garbage in (b"not of netproxy", b"", json.dumps({"sealed": "ROT13"}).encode()):
            site.cluster.put(RECORD, garbage)
            with site.made() as machine:
                expect_unavailable(machine, [RECORD])
                equal(site.cluster.values(RECORD), {RECORD: garbage}, "the record")
                equal(site.outcomes(), [], "token requests")
        machine = site.machine()
        expect_unavailable(machine, [RECORD])
        site.cluster.delete(RECORD)
        expect_recovery(machine)
        equal(site.outcomes(), ["rotated"], "token requests in the end")


@case
def a_record_of_another_key_is_left_alone(world):
    with Site(world) as site:
        machine = site.machine()
        expect_ok(machine)
        before = site.cluster.values(RECORD)
        stranger = site.machine(state_key=new_state_key(world))
        expect_unavailable(stranger, ["state_key"])
        equal(site.cluster.values(RECORD), before, "the record")
        equal(site.outcomes(), ["rotated"], "token requests")
        refresh(machine)
        expect_ok(machine)


# Operation.


@case
def a_new_state_key_reads_what_the_old_one_sealed(world):
    """Machines with [new, old] read both and write with the new key, after which the old key can be
    removed."""
    with Site(world) as site:
        old, new = new_state_key(world), new_state_key(world)
        before = site.machine(state_key=old)
        expect_ok(before)
        between = site.machine(state_key=[new, old])
        expect_ok(between)
        equal(site.outcomes(), ["rotated"], "token requests with both keys")
        refresh(between)
        after = site.machine(state_key=new)
        expect_ok(after)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests with the new key")
        expect_unavailable(site.machine(state_key=old), ["state_key"])
        expect_nothing_readable(site.cluster)


def moved(source, target, path, *more):
    """Moves the tokens of one configuration to another."""
    done = source.command("state", "export", path, *more)
    equal(done.returncode, 0, f"state export ({done.stderr})")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "permissions of the file")
    done = target.command("state", "import", path)
    equal(done.returncode, 0, f"state import ({done.stderr})")


@case
def tokens_move_from_files_to_etcd_and_back(world):
    """Without a sign-in or a token request. The export removes the exported tokens, so that no two stores
    have the same refresh token."""
    with Site(world) as site:
        files = Mortal(world, site.endpoint)
        # The export of a sealed store is sealed with its key.
        back = Mortal(world, site.endpoint, state_key=key_setting(site.state_key))
        machine = site.made()
        with files:
            expect_ok(files)
        for each in (machine, back):
            each.write_config()
        moved(files, machine, world.path(world.unique("export")))
        with open(files.token_file(), encoding="utf-8") as file:
            check("refresh_token" not in file.read(), "the token file has no token")
        equal(list(expect_nothing_readable(site.cluster)), [RECORD], "what is stored")
        with machine:
            expect_ok(machine)
        moved(machine, back, world.path(world.unique("export")))
        # The record of the sign-out, which has no token.
        equal(list(expect_nothing_readable(site.cluster)), [RECORD], "what is left in etcd")
        with back:
            expect_ok(back)
            equal(site.outcomes(), ["rotated"], "token requests so far")
            refresh(back)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests in the end")


@case
def an_export_may_copy_and_an_import_may_replace(world):
    """Only with an option: a copy of a refresh token is dangerous, and so is replacing one."""
    with Site(world) as site:
        machine = site.machine()
        expect_ok(machine)
        path, before = world.path(world.unique("export")), site.cluster.values(RECORD)
        done = machine.command("state", "export", path, "--copy")
        equal(done.returncode, 0, f"state export --copy ({done.stderr})")
        equal(site.cluster.values(RECORD), before, "the record after a copy")
        done = machine.command("state", "import", path)
        check(done.returncode != 0, "an import into a store that has tokens is refused")
        check("--replace" in done.stderr, f"the way out is not named: {done.stderr}")
        equal(site.cluster.values(RECORD), before, "the record after a refused import")
        done = machine.command("state", "import", path, "--replace")
        equal(done.returncode, 0, f"state import --replace ({done.stderr})")
        refresh(machine)
        equal(site.outcomes(), ["rotated", "rotated"], "token requests")


@case
def an_export_waits_for_no_renewal(world):
    """While a machine renews, the refresh token can be used at any moment, so it is not exported."""
    with Site(world) as site:
        machine = site.machine()
        expect_ok(machine)
        path, before = world.path(world.unique("export")), None
        site.endpoint.before.close()
        refreshing = Refreshing(machine)
        try:
            site.endpoint.before.wait_for_somebody("the token request")
            before = site.cluster.values(RECORD)
            done = machine.command("state", "export", path, seconds=60)
            check(done.returncode != 0, "an export during a renewal is refused")
            check("a daemon uses these tokens" in done.stderr, f"no reason: {done.stderr}")
            check(not os.path.exists(path), "there is a file all the same")
            equal(site.cluster.values(RECORD), before, "the record")
        finally:
            site.endpoint.before.open()
            refreshing.end()
        expect_ok(machine)


@case
def a_storm_on_a_fleet_of_six_does_no_harm(world):
    """A storm of 15 seconds. `fleet_storm.py 600` is the long version, with 20 machines, one of which has
    a clock that is an hour fast; here another case tests such clocks."""
    fleet_storm.blow(world, 15, random.randrange(1 << 32), size=6, skewed=0)
