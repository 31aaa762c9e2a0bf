"""netproxy's output for hostile bytes, parsed by two strict parsers: h11 and llhttp."""

import os

from harness import case, free_port
from proxy import Netproxy
from world import HERE, run


def strict(world, scenario):
    port = free_port()
    channel = {"upstream": f"http://127.0.0.1:{port}", "match": {"path": "/", "hosts": ["a"]},
               "access": {"hosts": ["*"]}, "retry": {"attempts": 0}}
    with Netproxy(world, {"orders": channel}, workers=1) as proxy:
        run([world.python, os.path.join(HERE, "strict.py"), scenario, str(proxy.port), str(port)],
            seconds=170)


@case
def hostile_requests_reach_the_origin_as_strict_parsers_want_them(world):
    strict(world, "requests")


@case
def hostile_requests_in_absolute_form_do_so_too(world):
    strict(world, "absolute")


@case
def hostile_responses_reach_the_app_as_strict_parsers_want_them(world):
    strict(world, "responses")
