import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore

/// The connections of clients and their tasks.
extension Worker {
    /// Returns a function that passes a new connection to a loop with fewer; `nil` if there is none.
    func betterPlace(_ number: Int) -> ((AcceptedSocket) -> Void)? {
        guard let load, let other = shared.spread?.lighter(than: load) else { return nil }
        let channel = listeners[number]?.channel
        return { accepted in
            other.loop.submit {
                other.value.adopt(accepted, listener: number, channel: channel)
            }
        }
    }

    /// Takes over a connection accepted by another loop.
    private func adopt(_ accepted: AcceptedSocket, listener: Int, channel: String?) {
        // Close a socket that the system cannot watch.
        guard let socket = try? accepted.open(on: loop) else {
            load?.remove()
            return
        }
        // An unknown listener may not have been opened here yet. If it was open here, it is closed now, and
        // its last connections end like its earlier ones.
        let own = listeners[listener]
        let isClosed = own == nil && listener <= lastListener
        let connection = serve(
            socket,
            listener: listener,
            channel: own == nil ? channel : own?.channel
        )
        if isDraining || isClosed { connection?.drain() }
    }

    /// Serves a connection that is already in the load.
    ///
    /// - Returns: the connection; `nil` if the process has too many.
    @discardableResult
    func serve(_ socket: StreamSocket, listener: Int, channel: String?) -> DownstreamConnection? {
        guard shared.connectionCount.add(upTo: limits.connections, orFreeing: freeConnection) else {
            // A reset is cheaper than a response, and the client notices it.
            socket.reset()
            load?.remove()
            return nil
        }
        let connection = DownstreamConnection(
            socket,
            bounds: limits.bounds,
            listener: ListenerSource(number: listener, channel: channel)
        )
        connections[ObjectIdentifier(connection)] = connection
        heap.began(connections.count)
        connection.beginParked()
        leaveToLoop(connection)
        return connection
    }

    /// Ends the connection without a request whose deadline is first, so that silent ones block no client.
    ///
    /// - Returns: whether this loop had such a connection.
    private func freeConnection() -> Bool {
        var first: (connection: DownstreamConnection, deadline: UInt64)?
        for connection in connections.values where !connection.socket.isAborted {
            guard let deadline = connection.deadlineToSpare else { continue }
            if first.map({ deadline < $0.deadline }) ?? true { first = (connection, deadline) }
        }
        first?.connection.socket.abort()
        return first != nil
    }

    /// Starts a task that serves the connection while it is active; the task never leaves the loop.
    private func start(_ connection: DownstreamConnection) {
        if connection.wake() { load?.add() }
        let bound = LoopBound((worker: self, connection: connection), on: loop)
        let relay = AbortRelay()
        let reference = AbortRelay.Reference(relay, on: loop)
        let task = Task(executorPreference: loop) {
            await AbortRelay.$current.withValue(reference) {
                let (worker, connection) = bound.value
                await worker.run(connection)
            }
        }
        connection.run(
            by: DownstreamService(
                task: task,
                relay: relay,
                interim: handler.interimWriter(for: connection)
            )
        )
        // A client that disconnects, even with its first bytes, ends its exchange.
        let end = {
            task.cancel()
            relay.abort()
        }
        connection.socket.onPeerClosed = end
        if connection.socket.isPeerClosed { end() }
    }

    private func leaveToLoop(_ connection: DownstreamConnection) {
        connection.socket.park(until: connection.idleDeadline) {
            [unowned self, unowned connection] in
            start(connection)
        }
    }

    /// Parks an idle connection on the loop: its task would take many times the connection's memory.
    private func park(_ connection: DownstreamConnection) {
        connection.run(by: nil)
        connection.socket.onPeerClosed = nil
        if connection.isResting { load?.remove() }
        leaveToLoop(connection)
        if heap.parked() { trimLater() }
    }

    /// Returns memory to the system a little later, when more of it is free.
    private func trimLater() {
        let trimmer =
            trimmer
            ?? ActionTimer { [unowned self] in
                heap.trimmed()
                HeapMemory.returnUnused()
            }
        self.trimmer = trimmer
        loop.schedule(trimmer, at: loop.deadline(after: Worker.trimDelay))
    }

    /// Serves a connection with HTTP/2 until it closes.
    private func serveStreams(of connection: DownstreamConnection) async {
        // The session notices the end of the connection itself.
        connection.socket.onPeerClosed = nil
        let session = DownstreamSession(connection) { [unowned self] in serve($0) }
        connection.session = session
        await session.run()
        connection.session = nil
    }

    /// Starts one task for each stream; it never leaves the loop.
    private func serve(_ stream: DownstreamStream) {
        let bound = LoopBound((worker: self, stream: stream), on: loop)
        let relay = AbortRelay()
        let reference = AbortRelay.Reference(relay, on: loop)
        let task = Task(executorPreference: loop) {
            await AbortRelay.$current.withValue(reference) {
                let (worker, stream) = bound.value
                await worker.handler.serve(stream)
                stream.session.ended(stream)
            }
        }
        stream.service = DownstreamService(
            task: task,
            relay: relay,
            interim: handler.interimWriter(for: stream)
        )
    }

    private func run(_ connection: DownstreamConnection) async {
        await handler.serve(connection)
        if connection.isParked { return park(connection) }
        if connection.speaksHTTP2 { await serveStreams(of: connection) }
        await connection.end()
        connection.run(by: nil)
        connections[ObjectIdentifier(connection)] = nil
        load?.remove()
        shared.connectionCount.remove()
        if heap.ended(leaving: connections.count) { trimLater() }
        if connections.isEmpty { onDrained?() }
    }
}
