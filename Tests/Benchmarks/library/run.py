#!/usr/bin/env python3
"""Compares the library with async-http-client and URLSession on the same work, in one run.

    run.py [--requests N] [--concurrency N] [--rounds N] [--scratch DIR]

Small GETs, and 10 MB streamed, collected and uploaded, over keep-alive connections to one nginx on loopback.
Each client runs in its own process, which measures the CPU time of all its threads (user and system,
/proc/self/task/*/schedstat) per request after a warm-up, and its peak memory. The clients take turns; the
medians are compared. async-http-client runs with one thread per core, which is its default, and with one
thread, like the library; the cheaper one counts. Exits with 1 when a bar is missed: 0.45 of async-http-client
for a small GET, 1.0 for 10 MB, and at most the others' memory.
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
        client_max_body_size 20m;
        client_body_buffer_size 20m;
        location = /large {{ root {dir}; }}
        location = /upload {{ root {dir}; dav_methods PUT; }}
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


def measure(program, client, work, url, requests, concurrency):
    output = subprocess.run(
        [program, client, work, url, str(requests), str(concurrency)], check=True,
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
    with open(os.path.join(scratch, "large"), "wb") as file:
        file.write(b"x" * 10_000_000)
    works = {
        "get": ("/", options.requests, options.concurrency, 0.45),
        "stream": ("/large", 60, 4, 1.0),
        "collect": ("/large", 60, 4, 1.0),
        "upload": ("/upload", 60, 4, 1.0),
    }
    clients = ["netproxy", "ahc", "ahc-1", "urlsession"]
    results = {work: {client: [] for client in clients} for work in works}
    try:
        server.wait_for_port(port)
        for number in range(options.rounds):
            for work, (path, requests, concurrency, _) in works.items():
                for client in clients:
                    count = requests // 10 if client == "urlsession" and work == "get" else requests
                    result = measure(program, client, work, f"http://127.0.0.1:{port}{path}", count,
                                     concurrency)
                    results[work][client].append(result)
                    print(f"round {number + 1}: {work:8} {client:10} {result['cpu_us']:9.1f} us, "
                          f"{result['peak_kib'] // 1024} MiB", flush=True)
    finally:
        server.stop()
        if not options.scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    missed = 0
    for work, (_, _, _, bar) in works.items():
        cpu = {client: statistics.median(one["cpu_us"] for one in found)
               for client, found in results[work].items()}
        memory = {client: statistics.median(one["peak_kib"] for one in found)
                  for client, found in results[work].items()}
        ratio = cpu["netproxy"] / min(cpu["ahc"], cpu["ahc-1"])
        leaner = memory["netproxy"] <= max(memory["ahc"], memory["ahc-1"])
        holds = ratio <= bar and leaner
        missed += not holds
        print(f"{work}: " + ", ".join(
            f"{client} {cpu[client]:.1f} us {memory[client] / 1024:.0f} MiB" for client in clients)
            + f"; {ratio:.2f} of async-http-client, bar {bar} {'holds' if holds else 'MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
