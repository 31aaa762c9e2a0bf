#!/usr/bin/env python3
"""Makes the README's picture of the admin page from the running demo.

    picture.py --netproxy PATH --output FILE.png [--width 1280] [--height 800] [--scheme light]

Starts `netproxy demo`, sends some traffic through it, opens its page and explains one exchange. Exits 1 if
the picture is larger than 200 KB.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from devtools import Browser, Failure

LIMIT = 200_000
TRAFFIC = [("GET", "/public/hello"), ("GET", "/orders/41"), ("GET", "/orders/42?x=1"),
           ("POST", "/orders/revoke"), ("POST", "/orders/import"), ("GET", "/profile/me"),
           ("GET", "/orders/43"), ("GET", "/nowhere"), ("GET", "/orders/44")]


def addresses(demo):
    """Returns the addresses of the proxy and the page from the demo's output."""
    said = ""
    os.set_blocking(demo.stdout.fileno(), False)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        said += (demo.stdout.read() or b"").decode()
        found = list(dict.fromkeys(re.findall(r"http://127\.0\.0\.1:\d+", said)))
        # The page's address has no path of a channel.
        pages = [url for url in found if re.search(re.escape(url) + r"/?(\s|$)", said)
                 and not re.search(re.escape(url) + r"/(orders|public|nowhere)", said)]
        proxies = [url for url in found if re.search(re.escape(url) + r"/(orders|public)", said)]
        if pages and proxies:
            return proxies[0], pages[0]
        time.sleep(0.05)
    raise Failure(f"the demo names no page:\n{said}")


def send(proxy, method, path):
    data = b"x" * 700 if method == "POST" else None
    request = urllib.request.Request(proxy + path, data=data, method=method)
    try:
        urllib.request.urlopen(request, timeout=20).read()
    except urllib.error.HTTPError as error:
        error.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netproxy", required=True, help="the program")
    parser.add_argument("--output", required=True, help="the picture")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--scheme", choices=("light", "dark"), default="light")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        demo = subprocess.Popen([os.path.abspath(options.netproxy), "demo", "--port", "0"], cwd=home,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        try:
            proxy, page = addresses(demo)
            for method, path in TRAFFIC:
                send(proxy, method, path)
                time.sleep(0.3)
            with Browser() as browser:
                browser.view(options.width, options.height, options.scheme)
                browser.open(page + "/")
                browser.until("document.querySelectorAll('#rows tr').length > 7", "the list")
                time.sleep(2.5)
                browser.run("[...document.querySelectorAll('#rows tr')].find((r) =>"
                            "r.innerText.includes('retried')).querySelector('button').click()")
                browser.until("document.querySelectorAll('#steps dt').length > 2", "the explanation")
                browser.run("document.activeElement.blur()")
                browser.picture(options.output)
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(20)
    size = os.path.getsize(options.output)
    print(f"{options.output}: {size} bytes")
    return 1 if size > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
