"""netproxy as a child process: configuration, start, commands, logs, stop."""

import json
import os
import signal
import subprocess
from urllib.parse import quote_plus

from harness import Child, Failure, check, clean_environment, eventually, free_port
from world import read_json_lines


def to_yaml(value, indent=0):
    """Returns block-style YAML for dictionaries, lists and scalars; strings are always quoted."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                lines.append(f"{pad}{key}:\n{to_yaml(item, indent + 1)}")
            else:
                lines.append(f"{pad}{key}: {json.dumps(item)}")
        return "\n".join(lines)
    if isinstance(value, list) and value:
        return "\n".join(f"{pad}- {json.dumps(item)}" for item in value)
    return pad + json.dumps(value)


class Netproxy:
    """One daemon. At the end of the context it is stopped, must exit with 0, and must not have written a
    secret to any log or output."""

    def __init__(self, world, channels, **keys):
        self.world = world
        self.directory = world.path(world.unique("np"))
        os.makedirs(self.directory, mode=0o700)
        self.port = free_port()
        self.log_directory = os.path.join(self.directory, "log")
        self.config_path = os.path.join(self.directory, "netproxy.yaml")
        self.config = {
            "listen": [f"127.0.0.1:{self.port}"],
            "admin": "unix:" + os.path.join(self.directory, "admin.sock"),
            "state": os.path.join(self.directory, "state"),
            "drain": "5s",
            "log": {"directory": self.log_directory},
            "channels": channels,
            **keys,
        }
        self.variables = {}
        # Names and listening sockets that it receives as from systemd.
        self.sockets = []
        self.outputs = []
        # Objects with secrets that must not leak.
        self.secret_sources = [world.auth] if world.auth else []
        self.child = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        failed = kind is not None
        try:
            status = self.stop() if self.child and self.child.running() else (
                self.child.process.returncode if self.child else None)
        except Failure:
            if not failed:
                raise
            return
        if failed:
            if isinstance(error, Failure):
                error.stderr = self.child.stderr() if self.child else ""
            return
        check(status == 0, f"netproxy exited {status}: {self.last_words()}")
        self.check_nothing_leaked()

    def last_words(self):
        return " / ".join(self.child.stderr().splitlines()[-5:]) or "nothing on standard error"

    def environment(self):
        kept = ("RUNTIME_DIRECTORY", "STATE_DIRECTORY", "LOGS_DIRECTORY", "NOTIFY_SOCKET",
                "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
        environment = clean_environment(HOME=self.directory)
        for name in kept:
            environment.pop(name, None)
        return environment | self.variables

    def write_config(self, text=None):
        with open(self.config_path, "w", encoding="utf-8") as file:
            file.write(text if text is not None else to_yaml(self.config) + "\n")

    def start(self):
        self.write_config()
        command = [self.world.netproxy, "run", "--config", self.config_path]
        descriptors = [socket.fileno() for _, socket in self.sockets]
        if self.sockets:
            # Like systemd (sd_listen_fds(3)).
            names = ":".join(name for name, _ in self.sockets)
            script = "".join(f"exec {3 + index}<&{descriptor}; "
                             for index, descriptor in enumerate(descriptors))
            script += f"LISTEN_FDS={len(descriptors)} LISTEN_FDNAMES={names} LISTEN_PID=$$ exec \"$@\""
            command = ["bash", "-c", script, "systemd", *command]
        self.child = Child(command, self.directory, "netproxy", self.environment(), descriptors)
        self.child.wait_for_port(self.port)

    def stop(self, seconds=12.0):
        self.child.signal(signal.SIGTERM)
        try:
            return self.child.wait(seconds)
        finally:
            if self.child.running():
                self.child.process.kill()
                self.child.process.wait(5)

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def command(self, *arguments, config=True, seconds=20):
        """Runs one of netproxy's commands against this daemon."""
        where = ["--config", self.config_path] if config else []
        try:
            done = subprocess.run(
                [self.world.netproxy, *arguments, *where], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                env=self.environment(), cwd=self.directory)
        except subprocess.TimeoutExpired:
            raise Failure(f"netproxy {arguments[0]} did not end within {seconds} s") from None
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
        self.outputs.append((f"netproxy {' '.join(arguments)}", done.stdout + done.stderr))
        return done

    def log_path(self, channel):
        return os.path.join(self.log_directory, channel + ".log")

    def exchanges(self, channel):
        return [record for record in read_json_lines(self.log_path(channel))
                if record.get("event") == "exchange"]

    def exchange(self, channel, part):
        """Returns the log record of the exchange whose path or query contains the text."""

        def probe():
            for record in self.exchanges(channel):
                if part in record.get("path", "") or part in str(record.get("query", "")):
                    return record
            return None

        return eventually(probe, f"{channel}.log has a line for {part}", 5)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def check_nothing_leaked(self):
        """Fails if a client secret, Basic pair or token is in any log file or output."""
        texts = list(self.outputs)
        for folder, _, names in os.walk(self.log_directory):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    texts.append((os.path.join("log", name), file.read()))
        for path in (self.child.stdout_path, self.child.stderr_path):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append((os.path.basename(path), file.read()))
        for secret in set().union(*(each.every_secret() for each in self.secret_sources)):
            for form in {secret, quote_plus(secret)}:
                for where, text in texts:
                    check(form not in text, f"{where} contains a secret (…{secret[-4:]})")
