"""TCP relays that can hold back all bytes: partitions without privileges.

While a relay is cut, both sides keep their connections and receive nothing, as with lost packets: no FIN, no
reset. New connections are accepted, but receive nothing either. Bytes sent in the meantime arrive late when
the relay heals, as with TCP retransmissions, or never, if the relay discards them.
"""

import asyncio
import os
import threading


class Valve:
    """Lets the bytes of some relays through, or holds them back."""

    def __init__(self, relays):
        self.relays = relays
        self.gate = relays.run(open_gate())
        self.mine = []
        self.trap = None
        self.was_sprung = threading.Event()

    def cut(self):
        self.relays.call(self.gate.clear)

    def heal(self, is_late=True):
        """Lets bytes through again. With `is_late` this includes the held bytes; otherwise their
        connections are reset."""
        if not is_late:
            self.relays.call(lambda: [relay.reset() for relay in self.mine])
        self.relays.call(self.gate.set)

    def strand(self):
        """Permanently holds back the bytes of connections that are open now; new ones work."""
        def strand():
            stranded, self.gate = self.gate, asyncio.Event()
            stranded.clear()
            self.gate.set()

        self.relays.call(strand)

    def cut_behind(self, pattern, times=1):
        """Cuts the relay after the n-th request whose bytes contain the pattern: the request arrives and
        its response does not. Only for connections without TLS."""
        self.was_sprung.clear()
        self.trap = (pattern, times)

    def see(self, data):
        """Cuts the relay when the pattern has occurred often enough."""
        if not self.trap:
            return
        pattern, times = self.trap
        times -= data.count(pattern)
        self.trap = (pattern, times) if times > 0 else None
        if times <= 0:
            self.gate.clear()
            self.was_sprung.set()


class Relays:
    """Relays that share one thread, ended at the end of the context."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.all = []
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, address, port, valve=None, valve_of=None):
        """Adds a relay to the address; its own address is `127.0.0.1:relay.port`. Its connections pass its
        valve and the one that `valve_of` returns for their source port."""
        relay = Relay(address, port, valve or Valve(self), valve_of or (lambda _: None))
        self.run(relay.listen())
        self.all.append(relay)
        return relay

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

    def __init__(self, address, port, valve, valve_of):
        self.target = (address, port)
        self.valve, self.valve_of = valve, valve_of
        valve.mine.append(self)
        self.links = set()
        self.tasks = set()
        self.port = None

    async def listen(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0, backlog=256)
        self.port = self.server.sockets[0].getsockname()[1]

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
        other = self.valve_of(writer.get_extra_info("peername")[1])
        gates = [valve.gate for valve in (self.valve, other) if valve]
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
        """Transfers bytes in one direction, then the end; raises if the connection is broken."""
        while data := await reader.read(1 << 16):
            await passage(gates)
            if is_request:
                self.valve.see(data)
            writer.write(data)
            await writer.drain()
        await passage(gates)
        if writer.can_write_eof():
            writer.write_eof()


async def open_gate():
    gate = asyncio.Event()
    gate.set()
    return gate


async def passage(gates):
    """Waits until all gates are open at the same time."""
    while not all(gate.is_set() for gate in gates):
        for gate in gates:
            await gate.wait()


def inodes_by_port():
    """Returns the sockets of connections in this network, by local port."""
    found = {}
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as file:
                lines = file.read().splitlines()[1:]
        except FileNotFoundError:
            continue
        for fields in map(str.split, lines):
            found.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(fields[9])
    return found


def owner_of(port, pids):
    """Returns the process that has a connection from the local port; `None` if none of them has."""
    wanted = {f"socket:[{inode}]" for inode in inodes_by_port().get(port, ())}
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{name}") in wanted:
                    return pid
        except OSError:
            continue
    return None
