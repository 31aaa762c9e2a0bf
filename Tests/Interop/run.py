#!/usr/bin/env python3
"""netproxy with software of other authors: nginx, curl, django-oauth-toolkit, API clients.

    run.py --netproxy PATH [--only CASE]... [--list] [--keep]

Prints `ok`, `FAIL` or `skip` for each case and `N passed, N failed` at the end; exits with 1 if a case
failed. Everything runs on unused loopback ports, under one temporary directory.
"""

import argparse
import fnmatch
import os
import signal
import sys
import time
import traceback

import cases_admin  # noqa: F401
import cases_aws  # noqa: F401
import cases_clients  # noqa: F401
import cases_configuration  # noqa: F401
import cases_crash  # noqa: F401
import cases_daemon  # noqa: F401
import cases_demo  # noqa: F401
import cases_etcd  # noqa: F401
import cases_faults  # noqa: F401
import cases_fleet  # noqa: F401
import cases_grants  # noqa: F401
import cases_grpc  # noqa: F401
import cases_http2  # noqa: F401
import cases_http2_hostile  # noqa: F401
import cases_identities  # noqa: F401
import cases_mcp  # noqa: F401
import cases_messages  # noqa: F401
import cases_presets  # noqa: F401
import cases_pressure  # noqa: F401
import cases_readme  # noqa: F401
import cases_recipes  # noqa: F401
import cases_refusals  # noqa: F401
import cases_routing  # noqa: F401
import cases_sdks  # noqa: F401
import cases_signed  # noqa: F401
import cases_strict  # noqa: F401
import cases_tls  # noqa: F401
import cases_tokens  # noqa: F401
import cases_tools  # noqa: F401
import cases_upgrade  # noqa: F401
from harness import CASES, Failure, Skipped
from world import World

CASE_SECONDS = 180


def on_alarm(*_):
    raise Failure(f"the case did not end within {CASE_SECONDS} s")


def indented(text, lines=15):
    return "".join(f"        {line}\n" for line in text.splitlines()[-lines:])


def run_case(name, function, world):
    """Runs one case and prints its line. Returns ok, FAIL or skip."""
    started = time.monotonic()
    verdict, reason, more = "ok", "", ""
    signal.alarm(CASE_SECONDS)
    try:
        function(world)
    except Skipped as skipped:
        verdict, reason = "skip", str(skipped)
    except Failure as failure:
        verdict, reason = "FAIL", str(failure)
        more = indented(getattr(failure, "stderr", ""))
    except Exception as error:
        verdict, reason = "FAIL", f"{type(error).__name__}: {error}"
        more = indented(traceback.format_exc(), 8)
    finally:
        signal.alarm(0)
    seconds = time.monotonic() - started
    print(f"{verdict:<4} {name} ({seconds:.1f} s)" + (f": {reason}" if reason else ""))
    print(more, end="", flush=True)
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netproxy", help="the program under test")
    parser.add_argument("--only", action="append", metavar="CASE", help="a name or a glob pattern")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
    options = parser.parse_args()
    patterns = options.only or ["*"]
    chosen = [(name, function) for name, function in CASES
              if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    if options.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    if not chosen:
        parser.error("no case has that name; --list prints them")
    if not options.netproxy or not os.access(options.netproxy, os.X_OK):
        parser.error("--netproxy must name the netproxy program")

    signal.signal(signal.SIGALRM, on_alarm)
    # Termination by SIGTERM must also stop nginx and gunicorn.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    verdicts = []
    started = time.monotonic()
    world = World(os.path.abspath(options.netproxy))
    try:
        world.start()
        print(f"nginx and the authorization server run ({time.monotonic() - started:.1f} s)",
              flush=True)
        for name, function in chosen:
            verdicts.append(run_case(name, function, world))
    except Failure as failure:
        print(f"FAIL the world around netproxy: {failure}")
        verdicts.append("FAIL")
    finally:
        world.stop(keep=options.keep)
    skipped = verdicts.count("skip")
    closing = f"{verdicts.count('ok')} passed, {verdicts.count('FAIL')} failed"
    print(closing + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if "FAIL" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
