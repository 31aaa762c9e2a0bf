#!/usr/bin/env python3
"""The admin page and the sign-in page in a real Chromium.

    run.py --netproxy PATH [--pictures DIRECTORY]

Prints `ok` or `FAIL` for each check; exits 1 when one failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from urllib.parse import parse_qs, urlsplit

from devtools import Browser, Failure
from page_world import MARKUP, World

WIDTHS = (390, 768, 1280, 2560)
SCHEMES = ("light", "dark")

# Words that are split over two lines in texts that must not break within words. A hyphen may end a line.
BROKEN_WORDS = r"""(() => {
  const broken = [];
  const places = 'h1, h2, h3, th, dt, label, button:not(td button), .button, .state, td.status,' +
    'td.method, td.time, td.channel, td.ms';
  for (const element of document.querySelectorAll(places)) {
    if (!element.checkVisibility()) continue;
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
      for (const word of node.data.matchAll(/[^\s-]+-?/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
        if (tops.size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
})()"""

# Texts whose contrast with their background is below 4.5:1 (WCAG 2.2, 1.4.3).
FAINT_TEXTS = r"""(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a),
    g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });
  const behind = (element) => {
    if (!element) return { r: 255, g: 255, b: 255, a: 1 };
    const own = parse(getComputedStyle(element).backgroundColor);
    return own.a === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (a, b) => {
    const [m, n] = [light(a), light(b)].sort((x, y) => y - x);
    return (m + 0.05) / (n + 0.05);
  };
  let least = 21;
  const faint = [];
  const judge = (element, colour, text) => {
    const ground = behind(element);
    const found = ratio(over(parse(colour), ground), ground);
    least = Math.min(least, found);
    if (found < 4.5) faint.push(`${found.toFixed(2)} ${text.trim().slice(0, 40)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement;
    if (!node.data.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName)) continue;
    if (element.checkVisibility()) judge(element, getComputedStyle(element).color, node.data);
  }
  for (const input of document.querySelectorAll('input')) {
    judge(input, getComputedStyle(input, '::placeholder').color, input.placeholder);
  }
  return { least, faint };
})()"""


def check(condition, words):
    if not condition:
        raise Failure(words)


class Run:
    def __init__(self, world, browser, pictures):
        self.world, self.browser, self.pictures = world, browser, pictures
        self.failed = 0
        self.least = 21.0

    def case(self, name, function):
        started = time.monotonic()
        try:
            function()
            verdict, reason = "ok", ""
        except Exception as error:
            self.failed += 1
            verdict = "FAIL"
            reason = f": {error}" if isinstance(error, Failure) else "\n" + traceback.format_exc()
        print(f"{verdict:<4} {name} ({time.monotonic() - started:.1f} s){reason}", flush=True)

    def no_problems(self):
        check(not self.browser.problems, f"in the console: {self.browser.problems}")

    def open(self):
        self.browser.open(self.world.page)
        self.browser.until("document.querySelectorAll('#rows tr').length > 15", "the list")
        self.browser.until("document.querySelectorAll('article').length === 6", "the cards")

    def looks(self, name):
        """Checks the properties that apply at every width and in both color schemes."""
        browser = self.browser
        for width in WIDTHS:
            for scheme in SCHEMES:
                browser.view(width, 900, scheme)
                browser.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))")
                at = f"{name} at {width} px, {scheme}"
                size = browser.run("[document.documentElement.scrollWidth, innerWidth]")
                check(size[0] <= width and size[1] == width, f"{at}: scrolls sideways, {size}")
                broken = browser.run(BROKEN_WORDS)
                check(not broken, f"{at}: broken inside of a word: {broken}")
                contrast = browser.run(FAINT_TEXTS)
                check(not contrast["faint"], f"{at}: too little contrast: {contrast['faint'][:5]}")
                self.least = min(self.least, contrast["least"])
                is_dark = browser.run("matchMedia('(prefers-color-scheme: dark)').matches &&"
                                      "getComputedStyle(document.body).backgroundColor")
                check(is_dark != "rgb(246, 247, 248)", f"{at}: not dark")
                if self.pictures:
                    browser.picture(os.path.join(self.pictures, f"{name}-{width}-{scheme}.png"))

    # The admin page

    def first_sight(self):
        status, text = self.world.ask("GET", "/")
        check(status == 200 and len(text.encode()) <= 40 << 10, f"{len(text.encode())} bytes")
        self.browser.view(1280, 900, "light")
        self.open()
        # Rows and cards come from two responses, and the counts in the cards follow the rows a moment later.
        self.browser.until("document.body.innerText.includes('last minute: 12')", "the last minute")
        words = self.browser.run("document.body.innerText")
        for part in ("netproxy 0.", "serving on 127.0.0.1:", self.world.file,
                     "in force since the start", "sign-in needed", "To do: netproxy login mail",
                     "working", "failing", "no requests yet", "expires in", "p99", "last minute: 12"):
            check(part in words, f"'{part}' is not in\n{words[:1500]}")
        self.no_problems()

    def markup_is_text(self):
        page = self.browser.run("document.querySelector('#rows').innerText")
        check(MARKUP in page, "the hostile path is not shown as text")
        check(self.browser.run("document.title") == "netproxy", "a path changed the page")
        check(self.browser.run("document.querySelectorAll('img, script:not([nonce]), b').length") == 0,
              "a path became markup")
        self.explain("[...document.querySelectorAll('#rows button')]"
                     ".find((b) => b.textContent.includes('onerror') && b.textContent.includes('q='))")
        record = self.browser.run("document.querySelector('#record').textContent")
        check(record.count(MARKUP) >= 2, f"the hostile field is not in the record: {record}")
        check(self.browser.run("document.querySelectorAll('img, b').length") == 0,
              "a field became markup")
        self.browser.press("Escape")
        self.no_problems()

    def explain(self, button):
        self.browser.run(button + ".click()")
        self.browser.until("document.querySelectorAll('#steps dt').length > 2", "the explanation")

    def keyboard(self):
        browser = self.browser
        browser.run("document.activeElement.blur(); scrollTo(0, 0)")
        browser.open(self.world.page)
        browser.until("document.querySelectorAll('#rows tr').length > 15", "the list")
        for _ in range(40):
            browser.press("Tab")
            if browser.run("document.activeElement.closest('#rows') !== null"):
                break
        else:
            raise Failure("the Tab key does not lead to the list")
        for _ in range(3):
            browser.press("ArrowDown")
        row = browser.run("document.activeElement.closest('tr').sectionRowIndex")
        check(row == 3, f"the arrow key led to row {row}")
        browser.press("Enter")
        browser.until("document.querySelectorAll('#steps dt').length > 2", "the explanation")
        check(browser.run("document.activeElement.id") == "why-title", "the explanation has no focus")
        words = browser.run("document.querySelector('#why').innerText")
        check("Exchange" in words and "route" in words and "response" in words, words)
        browser.press("Escape")
        check(browser.run("document.activeElement.closest('tr').sectionRowIndex") == 3
              and browser.run("document.querySelector('#why').hidden"), "Escape does not lead back")
        self.no_problems()

    def mouse(self):
        self.browser.click("#rows tr:nth-child(1) td.time")
        self.browser.until("document.querySelectorAll('#steps dt').length > 2", "the explanation")
        check(self.browser.run("document.querySelector('#curl').textContent.startsWith('curl ')"),
              "there is no curl command")
        self.looks("why")
        self.browser.view(1280, 900, "light")
        self.browser.click("#close")
        failure = "[...document.querySelectorAll('article')].find((a) => a.innerText.includes('mail'))"
        self.explain(failure + ".querySelector('.buttons button')")
        check("reauthorization_required" in self.browser.run(
            "document.querySelector('#why').innerText"), "not the last failure of the channel")
        self.browser.press("Escape")

    def live(self):
        browser = self.browser
        self.world.get("/public/live-1")
        browser.until("document.querySelector('#rows button').textContent.includes('live-1')",
                      "a new row")
        browser.click("#pause")
        self.world.get("/public/live-2")
        browser.until("document.querySelector('#count').textContent.includes('1 newer entry')",
                      "the count of what waits")
        check("live-2" not in browser.run("document.querySelector('#rows').innerText"), "not paused")
        browser.click("#pause")
        browser.until("document.querySelector('#rows button').textContent.includes('live-2')",
                      "the row that waited")
        self.no_problems()

    def filter(self):
        browser = self.browser

        def ask(text):
            browser.run("document.querySelector('#where').value = '';"
                        "document.querySelector('#where').focus()")
            browser.type(text)
            browser.press("Enter")

        ask('status>=500 channel="mail"')
        browser.until("document.querySelectorAll('#rows tr').length === 2", "two rows")
        har = browser.run("fetch(document.querySelector('#har').href).then((a) => a.json())")
        check(len(har["log"]["entries"]) == 2, "the archive has other entries than the list")
        browser.open("about:blank")
        browser.open(self.world.page + "#where=status%3E%3D500")
        browser.until("document.querySelectorAll('#rows tr').length > 2", "the rows of the address")
        check("200" not in browser.run("[...document.querySelectorAll('td.status')]"
                                       ".map((c) => c.innerText).join()"), "the address is not kept")
        self.no_problems()
        ask("statsu=200")
        browser.until("document.querySelector('#problem').textContent.includes"
                      "(\"did you mean 'status'?\")", "the refusal of a condition")
        browser.click("#clear")
        browser.until("document.querySelectorAll('#rows tr').length > 15", "all rows")
        check(browser.run("document.querySelector('#problem').hidden"), "the refusal stays")
        # The browser itself reports the status 400.
        browser.problems.clear()

    def renewal(self):
        browser = self.browser
        card = "[...document.querySelectorAll('article')].find((a) => a.innerText.includes('orders'))"
        press = "{}.querySelectorAll('button').forEach((b) => {{ if (b.textContent === '{}') b.click() }})"
        before = self.world.server.tokens
        browser.run(press.format(card, "Renew token"))
        check("Renew now" in browser.run(card + ".innerText"), "there is no second step")
        browser.run(press.format(card, "Keep it"))
        check(self.world.server.tokens == before, "one step renewed the token")
        browser.run(press.format(card, "Renew token"))
        browser.run(press.format(card, "Renew now"))
        browser.until(card + ".innerText.includes('was renewed')", "the renewal")
        check(self.world.server.tokens == before + 1, "the token was not renewed once")
        browser.until(card + ".innerText.includes('generation 2')", "the new generation")
        first = browser.run(card + ".innerText.match(/expires in.*/)[0]")
        browser.until(card + f".innerText.match(/expires in.*/)[0] !== {json.dumps(first)}",
                      "the count down")
        self.no_problems()

    def reload(self):
        self.world.write(self.world.text + "wrokers: 1\n")
        check(self.world.ask("POST", "/reload")[0] == 422, "the broken configuration was taken")
        self.browser.until("document.querySelector('#refusal').innerText.includes('wrokers')",
                           "the reason of the refusal")
        self.world.write(self.world.text)
        check(self.world.ask("POST", "/reload")[0] == 200, "the configuration was not taken")
        self.browser.until("document.querySelector('#refusal').hidden &&"
                           "document.querySelector('#configuration').innerText.includes('✓ reloaded')",
                           "the outcome of the reload")
        self.no_problems()

    def restart(self):
        browser = self.browser
        self.world.stop()
        browser.until("document.querySelector('#gone').innerText.includes('has not answered since')",
                      "the notice")
        contrast = browser.run(FAINT_TEXTS)
        check(not contrast["faint"], f"too little contrast: {contrast['faint'][:5]}")
        self.world.start()
        browser.until("document.querySelector('#gone').hidden", "the end of the notice")
        self.world.get("/public/again")
        browser.until("document.querySelector('#rows button').textContent.includes('again')",
                      "a row of the new daemon")
        # The browser itself reports refused connections.
        other = [line for line in browser.problems if "ERR_" not in line]
        check(not other, f"in the console: {other}")
        browser.problems.clear()

    def names(self):
        self.browser.call("Accessibility.enable")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        found = set()
        for node in nodes:
            role = node.get("role", {}).get("value")
            found.add(role)
            if role in ("button", "textbox", "combobox", "link", "table", "article", "search"):
                check(node.get("name", {}).get("value"), f"a {role} without a name")
        wanted = {"table", "row", "columnheader", "cell", "article", "search", "main", "status",
                  "heading", "banner"}
        check(wanted <= found, f"missing roles: {wanted - found}")

    def without_script(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.open("about:blank")
            self.browser.open(self.world.page)
            # The debugger's own scripts still run.
            words = self.browser.run("document.body.innerText")
            for part in ("Without JavaScript", "serving on 127.0.0.1:", "orders → http://127.0.0.1"):
                check(part in words, f"'{part}' is not in\n{words}")
            check("Exchanges" not in words.split("\n"), "there is an empty list")
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    # The sign-in page

    def login(self, channel, query, name, parts):
        process = subprocess.Popen(
            [self.world.netproxy, "login", channel, "--no-browser", "--config", self.world.file],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = ""
            while not (found := re.search(r"  (http\S+)", said)):
                line = process.stdout.readline()
                check(line, f"login ended: {said}")
                said += line
            asked = parse_qs(urlsplit(found[1]).query)
            state, redirect = asked["state"][0], asked["redirect_uri"][0]
            self.browser.open(redirect + "?" + query.format(state=state))
            words = self.browser.run("document.body.innerText")
            for part in (channel, f"127.0.0.1:{self.world.server.server_port}", *parts):
                check(part in words, f"'{part}' is not in\n{words}")
            check(self.browser.run("document.querySelectorAll('b, img').length") == 0, "markup")
            self.looks(name)
            if "{state}" not in query:
                process.terminate()
            return process.communicate(timeout=30)[0], process.returncode
        finally:
            process.kill()
            process.wait(10)

    def signed_in(self):
        said, code = self.login("calendar", "code=good&state={state}", "signed-in",
                                ["✓", "You are signed in.", "return to the terminal"])
        check(code == 0 and "You are signed in to calendar" in said, said)

    def refused(self):
        said, code = self.login("mail", "code=good&state={state}", "refused",
                                ["✕", "The sign-in failed.", "<b>revoked</b>", "What happened", "Next"])
        check(code == 1 and "run netproxy login mail again" in said, said)

    def stray(self):
        said, _ = self.login("mail", "error=access_denied", "stray", ["▲", "it has no state"])
        check("it has no state, and it says access_denied" in said, said)
        # The browser itself reports the statuses 400 and 502.
        self.browser.problems.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netproxy", required=True, help="the program under test")
    parser.add_argument("--pictures", help="where to leave pictures of every width and scheme")
    options = parser.parse_args()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    with World(options.netproxy) as world, Browser() as browser:
        world.traffic()
        run = Run(world, browser, options.pictures)
        run.case("the page opens with the last exchanges and the state of each channel",
                 run.first_sight)
        run.case("markup in paths and fields is text", run.markup_is_text)
        run.case("no broken words, no sideways scrolling, enough contrast", lambda: run.looks("page"))
        browser.view(1280, 900, "light")
        run.case("the keyboard leads to the explanation and back", run.keyboard)
        run.case("a click leads to the explanation, which fits everywhere", run.mouse)
        run.case("exchanges appear as they end, unless paused", run.live)
        run.case("conditions choose the exchanges", run.filter)
        run.case("a token is renewed in two steps, and counts down", run.renewal)
        run.case("the outcome of a reload is shown", run.reload)
        run.case("everything has a role and a name", run.names)
        run.case("the page says that the daemon is gone, and comes back", run.restart)
        run.case("without scripts there is the status", run.without_script)
        run.case("the page of a sign-in", run.signed_in)
        run.case("the page of a refused sign-in", run.refused)
        run.case("the page of an answer that belongs to no sign-in", run.stray)
        print(f"{run.failed} failed; the least contrast is {run.least:.2f}:1")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
