"""TCP relays that can hold everything back: partitions without privileges.

While a relay is cut, both sides keep their connections and hear nothing, as when packets are lost:
no FIN, no reset. New connections are accepted, and hear nothing either. What was sent in the
meantime arrives late when the relay heals, as TCP sends it again, or never, when the relay is told
to forget it.
"""

import asyncio
import os
import threading


class Relays:
    """Relays that share one thread. Ends them all as a context manager."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.all = []
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, address, port, **keys):
        """A relay to the address; its own is `127.0.0.1:relay.port`."""
        relay = Relay(self, address, port, **keys)
        self.run(relay.listen())
        self.all.append(relay)
        return relay

    def gate(self):
        """A passage that is open."""
        return self.run(self.make_gate())

    async def make_gate(self):
        gate = asyncio.Event()
        gate.set()
        return gate

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def call(self, function):
        """Calls the function in the relays' thread and waits for it."""
        async def calling():
            function()

        self.run(calling())

    def close(self):
        if not self.loop.is_running():
            return
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def end(self):
        for relay in self.all:
            relay.end()
        mine = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Relay:
    """One listener and its connections."""

    def __init__(self, relays, address, port, gates_of=None):
        self.relays, self.target = relays, (address, port)
        # More gates of a connection, by the port that it comes from.
        self.gates_of = gates_of or (lambda _: [])
        self.own_gate = relays.gate()
        self.links = set()
        self.tasks = set()
        self.trap = None
        self.was_trapped = threading.Event()
        self.port = None

    async def listen(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0, backlog=256)
        self.port = self.server.sockets[0].getsockname()[1]

    # What a case asks.

    def cut(self):
        self.relays.call(self.own_gate.clear)

    def heal(self, is_late=True):
        """Lets bytes through again: those held back as well (`is_late`), or else their connections
        are reset."""
        if not is_late:
            self.relays.call(self.reset)
        self.relays.call(self.own_gate.set)

    def cut_behind(self, pattern, times=1):
        """Cuts itself behind the request whose bytes contain the pattern for the n-th time: the
        request arrives and its answer does not. Only for connections without TLS."""
        self.was_trapped.clear()
        self.trap = (pattern, times)

    # What the relay does.

    def reset(self):
        for writers in list(self.links):
            for writer in writers:
                writer.transport.abort()

    def end(self):
        self.server.close()
        self.reset()

    def accept(self, reader, writer):
        task = asyncio.create_task(self.serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, reader, writer):
        gates = [self.own_gate, *self.gates_of(writer.get_extra_info("peername")[1])]
        self.links.add(link := (writer,))
        try:
            await passage(gates)
            there, back = await asyncio.open_connection(*self.target)
            self.links.discard(link)
            self.links.add(link := (writer, back))
            pumps = [asyncio.create_task(self.pump(reader, back, gates, is_request=True)),
                     asyncio.create_task(self.pump(there, writer, gates, is_request=False))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_EXCEPTION)
            for each in pumps:
                each.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
            pass
        finally:
            self.links.discard(link)
            for each in link:
                each.close()

    async def pump(self, reader, writer, gates, is_request):
        """Bytes in one direction, then the end; raises when the connection is broken."""
        while data := await reader.read(1 << 16):
            await passage(gates)
            if is_request:
                self.spring(data)
            writer.write(data)
            await writer.drain()
        await passage(gates)
        if writer.can_write_eof():
            writer.write_eof()

    def spring(self, data):
        """Cuts the relay when the trap's pattern has come often enough."""
        if not self.trap:
            return
        pattern, times = self.trap
        times -= data.count(pattern)
        self.trap = (pattern, times)
        if times <= 0:
            self.trap = None
            self.own_gate.clear()
            self.was_trapped.set()


async def passage(gates):
    """Waits until all gates are open at once."""
    while not all(gate.is_set() for gate in gates):
        for gate in gates:
            await gate.wait()


def inodes_by_port(pid="self"):
    """The sockets of IPv4 and IPv6 connections in the network of a process, by local port."""
    found = {}
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
                lines = file.read().splitlines()[1:]
        except FileNotFoundError:
            continue
        for fields in map(str.split, lines):
            found.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(fields[9])
    return found


def owner_of(port, pids):
    """Which of the processes has a connection from the local port; `None` if none of them has."""
    for pid in pids:
        try:
            wanted = inodes_by_port(pid).get(port, set())
            for name in os.listdir(f"/proc/{pid}/fd"):
                place = os.readlink(f"/proc/{pid}/fd/{name}")
                if place.startswith("socket:[") and place[8:-1] in wanted:
                    return pid
        except OSError:
            continue
    return None
