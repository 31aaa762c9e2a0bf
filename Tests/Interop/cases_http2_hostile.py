"""Hostile HTTP/2: a table of origins with faulty responses and a table of clients with faulty requests.

hostile_h2.py contains the bytes of each peer and the expected outcomes. netproxy must survive all of them,
with little memory, and serve the ordinary request that follows.
"""

import json
import os
import subprocess

from harness import Failure, case, clean_environment, free_port
from proxy import Netproxy
from world import HERE, run

HOSTILE = os.path.join(HERE, "hostile_h2.py")
# Stalled exchanges must end within the time limit of an entry.
QUICK = {"connect": "3s", "response": "3s", "idle": "3s"}


def played(world, scenario, channels, port, **keys):
    """Runs a complete table against one daemon, and reports the failed entries line by line."""
    with Netproxy(world, channels, workers=1, **keys) as proxy:
        done = subprocess.run(
            [world.python, "-B", HOSTILE, scenario, str(proxy.port), str(port),
             str(proxy.child.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=175, env=clean_environment(), check=False)
        if done.returncode:
            raise Failure("hostile " + scenario + ":\n" + done.stdout.decode(errors="replace"))


@case
def hostile_http2_origins_get_what_they_deserve(world):
    port = free_port()
    places = json.loads(run([world.python, "-B", HOSTILE, "channels", str(port)]))
    channels = {
        name: {"upstream": place["upstream"], "http": "http2", "timeouts": QUICK,
               "retry": {"attempts": place["attempts"]}}
        for name, place in places.items()}
    played(world, "origins", channels, port)


@case
def hostile_http2_apps_get_what_they_deserve(world):
    port = free_port()
    channel = {"upstream": f"http://127.0.0.1:{port}", "timeouts": QUICK,
               "retry": {"attempts": 0}}
    played(world, "apps", {"orders": channel}, port,
           limits={"head_timeout": "3s", "header_count": 100, "header_size": "16KiB"})
