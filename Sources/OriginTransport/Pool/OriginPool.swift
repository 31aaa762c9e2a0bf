package import EventIO
package import NetworkCore

/// The connections of one loop to one origin: kept alive, bounded, with a queue.
///
/// Not `Sendable`: it never leaves its loop.
package final class OriginPool: UpstreamConnectionOwner {
    package let peer: UpstreamPeer
    package let loop: EventLoop
    private let tls: TLSContext?
    /// How long to watch for content after a response that must not have any.
    private static let silence = Duration.milliseconds(100)

    private let idle = IdleConnections()
    private var open = 0
    private let waiters = PoolQueue()
    private var isClosing = false
    /// How many callers use it now.
    var users = 0
    /// Called when a peer has none of the pinned keys, and pins are only reported.
    package var onUnpinnedPeer: (() -> Void)?
    private var onEmpty: (() -> Void)?

    /// How many connections are open, and how many of them wait for work.
    package var counts: (open: Int, idle: Int, queued: Int) { (open, idle.count, waiters.count) }

    /// Whether it has no connection and no user.
    var isUnused: Bool { open == 0 && users == 0 }

    /// Makes an empty pool.
    ///
    /// - Parameters:
    ///   - origin: where the connections go.
    ///   - options: limits and times.
    ///   - tls: for an `https` origin, what is demanded of it.
    ///   - loop: where they live.
    ///   - service: whose requests it sends.
    package init(
        _ origin: Origin,
        options: UpstreamOptions,
        tls: TLSContext?,
        on loop: EventLoop,
        serving service: UpstreamPeer.Service
    ) {
        peer = UpstreamPeer(origin, options, serving: service)
        self.tls = tls
        self.loop = loop
    }

    /// When an exchange must be over, on the loop's clock.
    ///
    /// - Throws: `http_response_timeout` if it is over already.
    @inline(never)
    func limit(of context: borrowing RequestContext) throws(NetworkError) -> UInt64 {
        guard let deadline = context.deadline else { return .max }
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw .overdueUnsent }
        // The loop's clock stands still within a turn: without the millisecond the wait could end before
        // the deadline, and a retry fit in between.
        return loop.deadline(after: left + .milliseconds(1))
    }

    /// A quiet connection for one exchange, if there is one and none of them is suspected.
    func takeIdle(_ context: inout RequestContext) -> UpstreamConnection? {
        guard !context.requiresFreshConnection else { return nil }
        while let connection = idle.take() {
            if connection.resumeFromIdle() {
                context.isConnectionReused = true
                context.upstreamAddress = connection.address
                return connection
            }
            connection.close()
        }
        return nil
    }

    /// A connection for one exchange where none is idle: a new one, or one that is waited for.
    ///
    /// - Throws: `connection_limit_reached` when the queue is full or the wait too long, and what
    ///   dialling throws.
    func acquire(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> UpstreamConnection {
        let wantsNew = context.requiresFreshConnection
        context.requiresFreshConnection = false
        context.isConnectionReused = false
        if open >= peer.options.connections {
            if let spare = idle.take() { spare.close() }
        }
        if open >= peer.options.connections {
            if let connection = try await waitInQueue(wantsNew: wantsNew, &context, limit) {
                return connection
            }
        } else {
            open += 1
        }
        do {
            let connection = try await dial(&context, until: limit)
            context.upstreamAddress = connection.address
            return connection
        } catch {
            slotFreed()
            throw limit <= loop.now ? NetworkError.overdue(error) : error
        }
    }

    /// Takes a connection back after a complete exchange.
    func release(_ connection: UpstreamConnection) {
        if isClosing || !connection.canIdle() {
            connection.close()
            return
        }
        if let waiter = nextWaiter() {
            guard waiter.wantsNew else { return waiter.grant(connection) }
            // Its last connection was dead, so it is given no used one, but the room of this one.
            waiters.putBack(waiter)
            connection.close()
            return
        }
        connection.enterIdle(until: loop.deadline(after: peer.options.keepAlive))
        idle.add(connection)
    }

    /// Takes a connection back whose origin announced content that it must not send: only after a
    /// silence, lest the content be read as the answer to the next request.
    func releaseAfterSilence(_ connection: UpstreamConnection) {
        guard !isClosing, connection.canIdle() else { return connection.close() }
        connection.enterWatch(until: loop.deadline(after: OriginPool.silence))
    }

    /// Called by a connection that closes, whatever it was doing.
    func closed(_ connection: UpstreamConnection) {
        idle.remove(connection)
        slotFreed()
    }

    /// Closes idle connections now and the others after their exchange.
    ///
    /// - Parameter onEmpty: called once no connection is left.
    package func close(onEmpty: (() -> Void)? = nil) {
        isClosing = true
        self.onEmpty = onEmpty
        while let connection = idle.take() { connection.close() }
        reportIfEmpty()
    }

    private func reportIfEmpty() {
        guard isClosing, open == 0, let report = onEmpty else { return }
        onEmpty = nil
        report()
    }

    private func slotFreed() {
        if let waiter = nextWaiter() { waiter.grant(nil) } else { open -= 1 }
        reportIfEmpty()
    }

    private func nextWaiter() -> PoolWaiter? {
        while let waiter = waiters.takeFirst() {
            if waiter.isWaiting { return waiter }
        }
        return nil
    }

    /// Waits for a released connection, or for the right to open one (nil).
    private func waitInQueue(
        wantsNew: Bool,
        _ context: inout RequestContext,
        _ limit: UInt64
    ) async throws -> UpstreamConnection? {
        guard waiters.count < peer.options.queueLength else { throw queueFull }
        let start = loop.now
        let waiter = PoolWaiter(wantsNew: wantsNew)
        waiters.add(waiter)
        loop.schedule(waiter, at: min(loop.deadline(after: peer.options.queueTimeout), limit))
        let bound = LoopBound(waiter, on: loop)
        let loop = loop
        let grant = await withTaskCancellationHandler {
            await waiter.wait()
        } onCancel: {
            loop.submit { bound.value.cancel() }
        }
        loop.remove(waiter)
        // A waiter that gave up must not take a place.
        waiters.remove(waiter)
        context.timings.queue = Duration(elapsed: loop.now - start)
        switch grant {
        case .connection(let connection):
            context.isConnectionReused = true
            context.upstreamAddress = connection.address
            return connection
        case .slot: return nil
        case .timedOut:
            throw limit <= loop.now
                ? NetworkError.overdueUnsent : NetworkError.timeout(.queue, peer.origin.authority)
        case .cancelled:
            throw FaultTable.error(.aborted, in: .connecting, to: peer.origin.authority)
        }
    }

    private var queueFull: NetworkError {
        NetworkError(
            .connectionLimitReached,
            side: .proxy,
            retry: .unsafe,
            detail:
                "all connections of the pool to \(peer.origin.authority) are busy: the queue is full",
            retryAfter: 1
        )
    }

    private func dial(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> UpstreamConnection {
        let deadline = min(loop.deadline(after: peer.options.connectTimeout), limit)
        let socket = try await HostDialer.connect(
            to: peer.options.proxy?.host ?? peer.origin.host,
            port: peer.options.proxy?.port ?? peer.origin.port,
            as: peer.options.proxy?.name,
            admitting: peer.options.destinations,
            on: loop,
            until: deadline,
            timings: &context.timings
        )
        guard let tls else { return UpstreamConnection(socket, to: peer, of: self) }
        if let proxy = peer.options.proxy {
            let reached = loop.now
            do throws(NetworkError) {
                try await proxy.openTunnel(over: socket, to: peer.origin, until: deadline)
            } catch {
                socket.close()
                throw error
            }
            // The proxy's own way to the origin.
            context.timings.connect =
                (context.timings.connect ?? .zero) + Duration(elapsed: loop.now - reached)
        }
        let connected = loop.now
        do throws(IOError) {
            try await socket.startTLS(
                tls,
                serverName: peer.options.serverName ?? peer.origin.host,
                until: deadline
            )
        } catch {
            socket.close()
            throw FaultTable.error(error, in: .handshake, to: peer.origin.authority)
        }
        context.timings.tls = Duration(elapsed: loop.now - connected)
        if socket.peerLacksPin { onUnpinnedPeer?() }
        return UpstreamConnection(socket, to: peer, of: self)
    }
}
