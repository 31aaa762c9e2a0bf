#!/usr/bin/env python3
"""Tests the library from a package outside the checkout, as its users would.

    run.py [--live] [--scratch DIR]

Builds the example package with warnings as errors, together with every Swift code block of the library's
documentation and the README; runs the example's own tests; checks the documentation's links with docc; runs
the samples of four documents against a server; ends a program with a call in flight; compares the libraries
that a program loads with the page that names them; and resolves the package beside a newer version of a
dependency. With --live, it also runs the example against nginx with a
private authority and an OAuth 2.0 server from PyPI, and a program against httpbin under gunicorn, all started
as in Tests/Interop. Prints `N passed, N failed`.
"""

import argparse
import glob
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
# The libraries with documentation, and their folders below Sources.
MODULES = {"NetworkClient": "Client/NetworkClient", "OAuth": "Core/OAuth"}
sys.path.insert(0, os.path.join(CHECKOUT, "Tests", "Interop"))

from harness import Child, Failure, clean_environment, free_port  # noqa: E402
from world import World  # noqa: E402


def catalog(module):
    return os.path.join(CHECKOUT, "Sources", MODULES[module], "Documentation.docc")


# A comment before a block describes its context: `<!-- block: in (a: A, b: B) -->` puts it into a function
# with these parameters, `<!-- block: skip -->` omits it.
BLOCK = re.compile(
    r"(?:<!-- block: (?P<rule>[^\n]*?) -->\n+)?^```swift\n(?P<code>.*?)^```$", re.M | re.S)
IMPORT = re.compile(r"^import (\w+)$", re.M)


def blocks_of(path):
    """Returns one Swift file with all blocks of a document, in order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    imports = {"Foundation", "NetworkClient", "NetworkTesting"}
    parts = []
    for number, match in enumerate(BLOCK.finditer(text), 1):
        rule, code = match["rule"] or "", match["code"]
        if rule == "skip":
            continue
        imports.update(IMPORT.findall(code))
        code = IMPORT.sub("", code)
        if rule.startswith("in "):
            code = f"func block{number}{rule[3:]} async throws {{\n{code}}}\n"
        elif rule:
            raise Failure(f"{path}: unknown rule '{rule}'")
        parts.append(code)
    return len(parts), "".join(f"import {name}\n" for name in sorted(imports)) + "\n".join(parts)


def write_blocks(package):
    """Writes a target for each document with code; returns the names of the targets and the number of
    blocks."""
    names, count = [], 0
    documents = sorted(path for module in MODULES for path in
                       glob.glob(os.path.join(catalog(module), "**", "*.md"), recursive=True))
    for path in documents + [os.path.join(CHECKOUT, "README.md")]:
        found, text = blocks_of(path)
        if not found:
            continue
        name = "Blocks" + re.sub(r"\W", "", os.path.splitext(os.path.basename(path))[0])
        directory = os.path.join(package, "Sources", "Blocks", name)
        os.makedirs(directory)
        with open(os.path.join(directory, "Blocks.swift"), "w", encoding="utf-8") as file:
            file.write(text)
        names.append(name)
        count += found
    if count < 30:
        raise Failure(f"found only {count} code blocks; did the documentation move?")
    return names, count


# Target names that another package may choose. `System` is a module that swift-nio and swift-subprocess import
# if there is one.
NAMES = ["Bytes", "Channels", "Commands", "Config", "Cryptography", "Decompression", "EventIO", "HTTP1", "HTTP2",
         "HTTPMessage", "Path", "RequestLog", "Service", "YAML"]
NEIGHBOR = """#if canImport(System)
#error("netproxy has a module that other packages import if there is one")
#endif

public struct Neighbor {}
"""


def write_neighbors(package):
    """Writes a target for each name that netproxy must not use."""
    for name in NAMES:
        directory = os.path.join(package, "Sources", "Names", name)
        os.makedirs(directory)
        with open(os.path.join(directory, f"{name}.swift"), "w", encoding="utf-8") as file:
            file.write(NEIGHBOR)


def swift(package, *arguments, **environment):
    """Runs SwiftPM; fails with the end of its output if it fails or warns."""
    done = subprocess.run(
        ["swift", *arguments, "--package-path", package], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=2400, text=True, errors="replace",
        env=clean_environment(**environment))
    if done.returncode != 0 or "warning:" in done.stdout:
        lines = [line for line in done.stdout.splitlines()
                 if re.search(r"error|warning:|✘|failed|recorded", line)]
        raise Failure(f"swift {arguments[0]}:\n" + "\n".join(lines[-40:] or [done.stdout[-2000:]]))
    return done.stdout


def check_documentation(package, module):
    """Converts the catalog of a module with its symbols; a broken link is an error."""
    build = subprocess.run(
        ["swift", "build", "--show-bin-path", "--package-path", package], check=True,
        stdout=subprocess.PIPE, text=True).stdout.strip()
    target = "x86_64-unknown-linux-gnu" if os.uname().machine == "x86_64" \
        else f"{os.uname().machine}-unknown-linux-gnu"
    symbols = os.path.join(package, f"{module}-symbols")
    os.makedirs(symbols)
    flags = []
    for module_map in glob.glob(os.path.join(CHECKOUT, "Sources", "C", "*", "module.modulemap")):
        flags += ["-Xcc", f"-fmodule-map-file={module_map}"]
    subprocess.run(
        ["swift-symbolgraph-extract", "-module-name", module, "-target", target,
         "-I", os.path.join(build, "Modules"), *flags, "-minimum-access-level", "public",
         # The modules that `import NetworkClient` includes.
         "-experimental-allowed-reexported-modules=NetworkCore,OAuth,OriginTransport",
         "-output-dir", symbols], check=True, timeout=600, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        ["docc", "convert", catalog(module), "--additional-symbol-graph-dir", symbols,
         "--fallback-display-name", module, "--fallback-bundle-identifier", module,
         "--output-path", os.path.join(package, f"{module}.doccarchive")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, text=True)
    warnings = [line for line in done.stdout.splitlines() if line.startswith(("warning", "error"))]
    # The comments of symbols can refer to other modules, which have no page here.
    warnings = [line for line in warnings if "Documentation.docc" in line]
    if done.returncode != 0 or warnings:
        raise Failure("docc convert:\n" + "\n".join(warnings or [done.stdout[-2000:]]))


SAMPLE = re.compile(r"^ *// sample\n(.*?)^ *// end$", re.M | re.S)


def check_samples(package):
    """Checks that the samples differ from the four documents in at most one of ten lines, each with its
    reason."""
    lines, differing = 0, 0
    for path in sorted(glob.glob(os.path.join(package, "Sources", "*Sample", "*.swift"))):
        with open(path, encoding="utf-8") as file:
            sample = SAMPLE.search(file.read())[1]
        own = [line for line in sample.splitlines() if line.strip()]
        lines += len(own)
        differing += sum("// differs: " in line for line in own)
    if differing * 10 > lines:
        raise Failure(f"{differing} of {lines} lines of the samples differ from the documents")
    return lines, differing


class Asked(http.server.BaseHTTPRequestHandler):
    """Responds with the request that it received: target, credential and content."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        credential = self.headers.get("Authorization", "none")
        content = {"target": f"{self.path} {credential}", "authorization": credential, "body": body}
        if self.path == "/broken":
            content = {"message": "it broke"}
        data = json.dumps(content).encode()
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def run_samples(package):
    """Runs the samples of the four documents against a live server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        output = subprocess.run(
            ["swift", "run", "--skip-build", "--package-path", package, "samples",
             f"127.0.0.1:{server.server_port}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
            env=clean_environment())
    finally:
        server.shutdown()
    print(output.stdout, end="")
    if output.returncode != 0:
        raise Failure(f"the samples exited {output.returncode}")
    return output.stdout.count("ok ")


class Slow(http.server.BaseHTTPRequestHandler):
    """Responds only after `go` is set."""

    protocol_version = "HTTP/1.1"
    arrived, go = threading.Event(), threading.Event()

    def do_GET(self):
        self.arrived.set()
        self.go.wait(60)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def binary(package, name):
    """Returns the path of a program of the package."""
    directory = subprocess.run(
        ["swift", "build", "--show-bin-path", "--package-path", package], check=True,
        stdout=subprocess.PIPE, text=True).stdout.strip()
    return os.path.join(directory, name)


def run_drain(package):
    """Ends a program with SIGTERM while one of its calls is in flight."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = subprocess.Popen(
        [binary(package, "drain"), f"http://127.0.0.1:{server.server_port}/"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=clean_environment())
    try:
        if not Slow.arrived.wait(60):
            raise Failure("drain: the call did not arrive")
        program.send_signal(signal.SIGTERM)
        output = ""
        for line in program.stdout:
            output += line
            if line == "draining\n":
                Slow.go.set()
        program.wait(timeout=60)
    finally:
        Slow.go.set()
        program.kill()
        server.shutdown()
    print(output, end="")
    if program.returncode != 0 or output.count("ok drain") != 2:
        raise Failure(f"drain exited {program.returncode}: {output}")
    return 2


# Every image has these, or `--static-swift-stdlib` includes them.
EVERYWHERE = re.compile(r"linux-vdso|ld-linux|lib(c|m|gcc_s|dl|pthread|rt)\.so|libswift|Foundation"
                        r"|libdispatch|libBlocksRuntime|lib_")


def check_libraries(package):
    """Checks that the page about containers names exactly the libraries that a program loads."""
    with open(os.path.join(catalog("NetworkClient"), "Deploying.md"), encoding="utf-8") as file:
        named = set(re.findall(r"`(lib[\w.+-]+\.so[\d.]*)`", file.read()))
    output = subprocess.run(["ldd", binary(package, "httpbin")], check=True, stdout=subprocess.PIPE,
                            text=True).stdout
    loaded = {line.split()[0] for line in output.splitlines() if line.split()}
    loaded = {name for name in loaded if not EVERYWHERE.search(name)}
    if named != loaded:
        raise Failure(f"Deploying.md names {sorted(named)}, and a program loads {sorted(loaded)}")


def check_newer_parser(scratch, package):
    """Resolves netproxy in a package that requires a newer version of a dependency than netproxy does."""
    clones = glob.glob(os.path.join(package, ".build", "repositories", "swift-argument-parser-*"))
    if not clones:
        raise Failure("SwiftPM has no clone of swift-argument-parser")
    mirror, newer = os.path.join(scratch, "argument-parser.git"), os.path.join(scratch, "newer")
    for directory in (mirror, newer):
        shutil.rmtree(directory, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", clones[0], mirror], check=True)
    subprocess.run(["git", "-C", mirror, "tag", "1.99.0", "1.8.2^{}"], check=True)
    os.makedirs(os.path.join(newer, "Sources", "newer"))
    url = "https://github.com/apple/swift-argument-parser"
    with open(os.path.join(newer, "Package.swift"), "w", encoding="utf-8") as file:
        file.write(
            '// swift-tools-version: 6.2\nimport PackageDescription\n\n'
            'let package = Package(name: "newer", dependencies: [.package(path: "../netproxy"), '
            f'.package(url: "{url}", from: "1.99.0")], targets: [.target(name: "newer", dependencies: ['
            '.product(name: "NetworkClient", package: "netproxy")])])\n')
    with open(os.path.join(newer, "Sources", "newer", "newer.swift"), "w", encoding="utf-8") as file:
        file.write("import NetworkClient\n")
    for arguments in (["config", "set-mirror", "--original", url, "--mirror", f"file://{mirror}"],
                      ["resolve"]):
        done = subprocess.run(["swift", "package", *arguments], cwd=newer, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, text=True,
                              env=clean_environment())
        if done.returncode != 0:
            raise Failure(f"swift package {arguments[0]}: {done.stdout[-2000:]}")


def run_httpbin(package, world):
    """Runs the library against httpbin under gunicorn."""
    port = free_port()
    server = Child([world.python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "8",
                    "--no-control-socket", "httpbin:app"], world.directory, "httpbin")
    try:
        server.wait_for_port(port)
        output = subprocess.run(
            ["swift", "run", "--skip-build", "--package-path", package, "httpbin",
             f"http://127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=180, env=clean_environment())
    finally:
        server.stop()
    print(output.stdout, end="")
    if output.returncode != 0:
        raise Failure(f"httpbin's client exited {output.returncode}")
    return output.stdout.count("ok ")


def run_live(package):
    """Runs the example against real servers."""
    world = World(None)
    try:
        world.start()
        with open(world.path("files", "orders.json"), "w", encoding="utf-8") as file:
            file.write('[{"id":1,"item":"lamp"}]')
        client = world.auth.register()
        output = subprocess.run(
            ["swift", "run", "--skip-build", "--package-path", package, "orders"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=180,
            env=clean_environment(
                SHOP_URL=f"https://localhost:{world.https_port}", SHOP_CA=world.ca,
                TOKEN_URL=world.auth.token_url, CLIENT_ID=client.client_id,
                CLIENT_SECRET=client.secret, CLIENT_NAME=client.name))
        print(output.stdout, end="")
        if output.returncode != 0:
            raise Failure(f"the example exited {output.returncode}")
        requests = len(world.auth.token_requests(client))
        if requests != 2:
            raise Failure(f"expected 2 token requests, found {requests}")
        return output.stdout.count("ok ") + run_httpbin(package, world)
    finally:
        world.stop(keep=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", action="store_true", help="also against real servers")
    parser.add_argument("--scratch", help="a directory that keeps the build")
    options = parser.parse_args()
    scratch = options.scratch or tempfile.mkdtemp(prefix="netproxy-consumer-")
    package = os.path.join(scratch, "example")
    os.makedirs(scratch, exist_ok=True)
    link = os.path.join(scratch, "netproxy")
    if not os.path.islink(link):
        os.symlink(CHECKOUT, link)
    passed, failed = 0, 0
    try:
        for name in ["Sources", "Tests"] + [f"{module}-symbols" for module in MODULES]:
            shutil.rmtree(os.path.join(package, name), ignore_errors=True)
        shutil.copytree(os.path.join(HERE, "example"), package, dirs_exist_ok=True)
        with open(os.path.join(package, "Sources", "OrderAPI", "OrderAPI.swift")) as file:
            if len(file.readlines()) >= 60:
                raise Failure("the order API is no longer under 60 lines")
        names, count = write_blocks(package)
        write_neighbors(package)
        targets = {"BLOCKS": " ".join(names), "NAMES": " ".join(NAMES)}
        swift(package, "build", "--build-tests", **targets)
        print(f"ok the example and {count} code blocks build without a warning, beside targets with short names",
              flush=True)
        output = swift(package, "test", "--skip-build", **targets)
        closing = re.search(r"Test run with (\d+) tests? .* passed", output)
        if not closing:
            raise Failure("the example's tests did not run")
        print(f"ok the example's tests: {closing[0]}", flush=True)
        lines, differing = check_samples(package)
        print(f"ok {differing} of {lines} lines of the documents' samples differ", flush=True)
        passed = 1 + run_samples(package) + run_drain(package)
        check_libraries(package)
        print("ok the page about containers names the libraries of a program", flush=True)
        check_newer_parser(scratch, package)
        print("ok a newer version of a dependency can be resolved beside netproxy", flush=True)
        passed += 2
        for module in MODULES:
            check_documentation(package, module)
        print("ok every link of the documentation leads somewhere", flush=True)
        passed += 2 + int(closing[1])
        if options.live:
            passed += run_live(package)
    except Failure as failure:
        print(f"FAIL {failure}")
        failed = 1
    finally:
        if not options.scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
