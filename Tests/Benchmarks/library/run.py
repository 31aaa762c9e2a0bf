#!/usr/bin/env python3
"""The library beside async-http-client on the same work, in one run.

    run.py [--requests N] [--concurrency N] [--rounds N] [--scratch DIR]

Small GETs over keep-alive connections to one nginx on loopback. Each client runs in a process of
its own, which measures the CPU time of all its threads (user and system, /proc/self/task/*/schedstat)
per request after a warm-up. The clients take turns; the medians are compared. async-http-client runs
with a thread for each core, which is its default, and with one thread, which is what the library
has; the cheaper one counts. Exits 1 when the library is not at least twice as cheap.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(CHECKOUT, "Tests", "Interop"))

from harness import Child, clean_environment, free_port  # noqa: E402

NGINX = """daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_timeout 600s;
    keepalive_requests 100000000;
    client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir};
    uwsgi_temp_path {dir}; scgi_temp_path {dir};
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{ default_type application/json; return 200 '{{"id":1,"name":"small"}}'; }}
    }}
}}
"""


def build(scratch):
    package = os.path.join(scratch, "package")
    shutil.copytree(os.path.join(HERE, "package"), package, dirs_exist_ok=True)
    link = os.path.join(scratch, "netproxy")
    if not os.path.islink(link):
        os.symlink(CHECKOUT, link)
    subprocess.run(["swift", "build", "-c", "release", "--package-path", package], check=True,
                   timeout=3000, stdout=sys.stderr)
    return os.path.join(package, ".build", "release", "bench")


def measure(program, client, url, options):
    output = subprocess.run(
        [program, client, url, str(options.requests), str(options.concurrency)], check=True,
        stdout=subprocess.PIPE, timeout=300, env=clean_environment()).stdout
    return json.loads(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=50000)
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", help="a directory that keeps the build")
    options = parser.parse_args()
    scratch = options.scratch or tempfile.mkdtemp(prefix="netproxy-bench-")
    os.makedirs(scratch, exist_ok=True)
    program = build(scratch)
    port = free_port()
    with open(os.path.join(scratch, "nginx.conf"), "w", encoding="utf-8") as file:
        file.write(NGINX.format(dir=scratch, port=port))
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not nginx:
        sys.exit("nginx is not installed (Debian: nginx-light)")
    server = Child([nginx, "-e", os.path.join(scratch, "error.log"), "-c",
                    os.path.join(scratch, "nginx.conf"), "-p", scratch], scratch, "nginx")
    results = {"netproxy": [], "ahc": [], "ahc-1": []}
    try:
        server.wait_for_port(port)
        for number in range(options.rounds):
            for client, found in results.items():
                result = measure(program, client, f"http://127.0.0.1:{port}/", options)
                found.append(result["cpu_us"])
                print(f"round {number + 1}: {client:9} {result['cpu_us']:6.1f} us/request, "
                      f"{result['per_second']} requests/s", flush=True)
    finally:
        server.stop()
        if not options.scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    own, many, one = (statistics.median(results[name]) for name in ("netproxy", "ahc", "ahc-1"))
    other = min(many, one)
    print(f"median CPU per request: netproxy {own:.1f} us, async-http-client {many:.1f} us, "
          f"with one thread {one:.1f} us; ratio {other / own:.2f}")
    return 0 if other >= 2 * own else 1


if __name__ == "__main__":
    sys.exit(main())
