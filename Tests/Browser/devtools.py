"""A headless Chromium, driven over the DevTools protocol through a WebSocket."""

import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time


class Failure(Exception):
    pass


class WebSocket:
    """The client side of RFC 6455 as far as DevTools needs it: text messages, no extensions."""

    def __init__(self, url, seconds=30):
        host, port, path = re.fullmatch(r"ws://([^:/]+):(\d+)(/.*)", url).groups()
        self.socket = socket.create_connection((host, int(port)), seconds)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Failure(f"no WebSocket: {head[:200]}")

    def fill(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise Failure("the browser closed its connection")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = (bytes([0x81, 0x80 | size]) if size < 126 else
                struct.pack("!BBH", 0x81, 0xFE, size) if size < 1 << 16 else
                struct.pack("!BBQ", 0x81, 0xFF, size))
        pad = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def receive(self):
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.take(8))[0]
            data = self.take(size)
            if first & 0x0F in (0, 1):
                message += data
                if first & 0x80:
                    return message.decode()
            elif first & 0x0F == 8:
                raise Failure("the browser ended the session")


class Browser:
    """One Chromium with a new profile and one tab."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise Failure("there is no chromium; on Debian: apt-get install chromium")
        self.profile = tempfile.mkdtemp(prefix="netproxy-browser-")
        self.problems = []
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self.profile}", "--remote-debugging-port=0", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        try:
            self.socket = WebSocket(self.endpoint())
            self.number = 0
            self.session = None
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target,
                                     flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(domain + ".enable")
        except BaseException:
            self.close()
            raise

    def endpoint(self):
        path = os.path.join(self.profile, "DevToolsActivePort")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    lines = file.read().split("\n")
                if len(lines) == 2:
                    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            if self.process.poll() is not None:
                raise Failure(f"chromium exited {self.process.returncode}")
            time.sleep(0.05)
        raise Failure("chromium did not open its debugging port")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Records an event that the console would show as an error."""
        method, facts = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.problems.append(str([value.get("value") for value in facts["args"]]))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{facts['entry']['text']} {facts['entry'].get('url', '')}")

    def run(self, expression):
        """Evaluates JavaScript in the page, and waits for a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression[:200]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what, seconds=20):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"{what} did not happen within {seconds} s")
            time.sleep(0.05)

    def view(self, width, height, scheme):
        """Sets the window size, and the color scheme that the system prefers, `light` or `dark`."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' &&"
                   f"(location.href === 'about:blank') === {json.dumps(url == 'about:blank')}", url)

    def press(self, key, code=None, text=None):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}
        text = "\r" if key == "Enter" else text
        facts = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **facts, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks with the mouse in the middle of the first element that a selector finds."""
        x, y = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                        "e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect();"
                        "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path, form="png", quality=None, whole=False):
        extra = {"quality": quality} if quality else {}
        data = self.call("Page.captureScreenshot", format=form, captureBeyondViewport=whole, **extra)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
