import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore

/// The connections of clients and their tasks.
extension Worker {
    /// Returns what takes a new connection instead of this loop, if another loop has fewer.
    func betterPlace(_ number: Int) -> ((AcceptedSocket) -> Void)? {
        guard let load, let other = shared.spread?.lighter(than: load) else { return nil }
        let channel = listeners[number]?.channel
        return { accepted in
            other.loop.submit {
                other.value.adopt(accepted, listener: number, channel: channel)
            }
        }
    }

    /// Takes a connection that another loop has accepted.
    private func adopt(_ accepted: AcceptedSocket, listener: Int, channel: String?) {
        // A socket that the system cannot watch is closed.
        guard let socket = try? accepted.open(on: loop) else {
            load?.remove()
            return
        }
        // A listener that is not here may be about to come; one that was here is closed, and its last
        // connections end like those that were here before.
        let own = listeners[listener]
        let isClosed = own == nil && listener <= lastListener
        let connection = serve(
            socket,
            listener: listener,
            channel: own == nil ? channel : own?.channel
        )
        if isDraining || isClosed { connection?.drain() }
    }

    /// Serves a connection that counts already.
    ///
    /// - Returns: the connection; `nil` if the process has too many.
    @discardableResult
    func serve(_ socket: StreamSocket, listener: Int, channel: String?) -> DownstreamConnection? {
        guard shared.connectionCount.add(upTo: limits.connections, orFreeing: freeConnection) else {
            // Cheaper than a response, and the client sees the reset.
            socket.reset()
            load?.remove()
            return nil
        }
        let connection = DownstreamConnection(
            socket,
            bounds: limits.bounds,
            listener: DownstreamConnection.Source(number: listener, channel: channel)
        )
        connections[ObjectIdentifier(connection)] = connection
        heap.began(connections.count)
        connection.beginParked()
        leaveToLoop(connection)
        return connection
    }

    /// Ends the connection without a request whose time is up first, so that silent ones keep no app
    /// out.
    ///
    /// - Returns: whether there was one on this loop.
    private func freeConnection() -> Bool {
        var first: (connection: DownstreamConnection, deadline: UInt64)?
        for connection in connections.values where !connection.socket.isAborted {
            guard let deadline = connection.deadlineToSpare else { continue }
            if first.map({ deadline < $0.deadline }) ?? true { first = (connection, deadline) }
        }
        first?.connection.socket.abort()
        return first != nil
    }

    /// One task for as long as the connection has something to do; it never leaves the loop.
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
            by: DownstreamConnection.Service(
                task: task,
                relay: relay,
                interim: handler.interimWriter(for: connection)
            )
        )
        // A client that disconnects ends its exchange. It may have done so with its first bytes.
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

    /// Leaves an idle connection to the loop: its task would take many times its memory.
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

    /// Serves a connection whose app speaks HTTP/2, until it is closed.
    private func serveStreams(of connection: DownstreamConnection) async {
        // The end of the app's half ends a stream only if it comes in the middle of a request.
        connection.socket.onPeerClosed = nil
        let session = DownstreamSession(connection) { [unowned self] in serve($0) }
        connection.session = session
        await session.run()
        connection.session = nil
    }

    /// One task for each stream; it never leaves the loop.
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
        stream.service = DownstreamConnection.Service(
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
