package import NetproxyEventIO
package import NetworkCore

/// The connections of one loop to one origin: kept alive, bounded, with a queue.
///
/// A request gets its connection by the first of these strategies that succeeds. `LoopTransport` tries
/// them in this order:
///
/// 1. A shared HTTP/2 connection with room for another exchange (`takeShared`): the oldest one, so that the
///    others become idle and close. Requests for an upgrade skip this strategy and the next, as do all
///    requests once the origin has chosen HTTP/1.
/// 2. A new connection that offers HTTP/2 (`share`). One request opens it and the others wait, since they
///    depend on the origin's choice. If the origin chooses HTTP/1, the request uses this connection,
///    and the waiting requests continue below.
/// 3. An idle HTTP/1 connection (`takeIdle`): the most recently used one, if it is still quiet. A retry after
///    a stale connection skips this strategy.
/// 4. A new connection (`acquire`), if the pool has a free slot. If all slots are taken, an idle connection
///    that the request may not use closes to free one.
/// 5. The queue: the request waits for a released connection or a slot. Requests of one sender are served
///    in order, and senders in turn (`PoolQueue`).
///
/// A request whose body is a stream first waits for its turn among the uploads, which leave part of the pool
/// to other requests (`UploadShare`).
///
/// Not `Sendable`: it never leaves its loop.
package final class OriginPool: UpstreamConnectionOwner, HTTP2ConnectionOwner {
    package let peer: UpstreamPeer
    package let loop: EventLoop
    let tls: TLSContext?
    /// The HTTP/2 connections; `nil` if HTTP/2 is disabled.
    let shared: SharedConnections?
    /// Whether requests first look for an HTTP/2 connection.
    var mayShare: Bool
    /// The time to watch for content after a response that must not have content.
    private static let silence = Duration.milliseconds(100)

    let idle = IdleConnections()
    let names: NameWatch
    /// The total suspension of the machine at the last check.
    private var knownSuspension: Int64?
    /// The number of connections, and of attempts to connect that have a place.
    var open = 0
    /// The number of attempts to connect that have given up their place.
    var slowDials = 0
    var shares: PoolShares
    private let waiters = PoolQueue()
    private var uploads: UploadShare
    private(set) var isClosing = false
    /// The number of current callers.
    var users = 0
    /// Called when a peer has none of the pinned keys and pins are only reported.
    package var onUnpinnedPeer: (() -> Void)?
    private var onEmpty: (() -> Void)?

    /// The number of open connections, of idle ones among them, and of waiting requests.
    package var counts: (open: Int, idle: Int, queued: Int) {
        (
            open, idle.count + (shared?.idleCount ?? 0),
            waiters.count + uploads.waiters.count + (shared?.waiters.count ?? 0)
        )
    }

    /// Whether the pool has no connection and no user.
    var isUnused: Bool { open == 0 && users == 0 }

    /// Creates an empty pool.
    ///
    /// - Parameters:
    ///   - origin: the origin of the connections.
    ///   - options: limits and timeouts.
    ///   - tls: the TLS requirements of an `https` origin.
    ///   - loop: the loop of the connections.
    ///   - service: the source of the requests.
    package init(
        _ origin: Origin,
        options: UpstreamOptions,
        tls: TLSContext?,
        on loop: EventLoop,
        serving service: UpstreamPeer.Service
    ) {
        peer = UpstreamPeer(origin, options, serving: service)
        uploads = UploadShare(of: options.connections)
        shares = PoolShares(of: options.connections, for: service)
        names = NameWatch(
            host: options.unixSocket == nil ? options.proxy?.host ?? origin.host : nil
        )
        self.tls = tls
        self.loop = loop
        mayShare = peer.maySpeakHTTP2
        shared = mayShare ? SharedConnections() : nil
    }

    /// Returns the deadline of an exchange, on the loop's clock.
    ///
    /// - Throws: `http_response_timeout` if the deadline has passed.
    @inline(never)
    func limit(of context: borrowing RequestContext) throws(NetworkError) -> UInt64 {
        guard let deadline = context.deadline else { return .max }
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw .overdueUnsent(after: context.deadlineSetting) }
        // The loop's clock stands still within a turn. Without the extra millisecond the wait could end
        // before the deadline and leave time for a retry.
        return loop.deadline(after: left + .milliseconds(1))
    }

    /// Returns a quiet idle connection for one exchange, if the pool has one.
    func takeIdle(_ context: inout RequestContext) -> UpstreamConnection? {
        guard !context.requiresFreshConnection, idle.count > 0, isOpen(to: context.sender) else {
            return nil
        }
        distrustAfterSuspension()
        if names.isDue(at: loop.now) { followNames(maximumAge: NameWatch.tolerance) }
        while let connection = idle.take() {
            if connection.resumeFromIdle() {
                context.isConnectionReused = true
                context.upstreamAddress = connection.address
                connection.sender = context.sender
                return connection
            }
            connection.close()
        }
        return nil
    }

    /// Whether a sender may use another connection.
    @inline(__always)
    private func isOpen(to sender: ObjectIdentifier?) -> Bool {
        open - idle.count < shares.largest || shares.admits(sender, used: open - idle.count)
    }

    /// Returns a connection for one exchange if none is idle: a new one, or one from the queue.
    ///
    /// - Throws: `connection_limit_reached` if the queue is full or the wait takes too long, and the errors
    ///   of dialing.
    func acquire(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> UpstreamConnection {
        let demand: PoolWaiter.Demand = context.requiresFreshConnection ? .new : .any
        context.requiresFreshConnection = false
        context.isConnectionReused = false
        let isOpen = isOpen(to: context.sender)
        if isOpen, open >= peer.options.connections {
            if let spare = idle.take() { spare.close() }
        }
        if !isOpen || open >= peer.options.connections {
            if let connection = try await wait(in: waiters, for: demand, &context, limit) {
                connection.sender = context.sender
                return connection
            }
        } else {
            open += 1
        }
        let attempt = PoolDial(in: self, for: context.sender)
        do {
            let socket = try await dial(offering: peer.offersHTTP1, &context, until: limit)
            attempt.succeed()
            return adopt(socket, &context)
        } catch {
            attempt.fail()
            throw limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
        }
    }

    /// Returns an HTTP/1 connection over a newly opened socket.
    func adopt(_ socket: StreamSocket, _ context: inout RequestContext) -> UpstreamConnection {
        let connection = UpstreamConnection(socket, to: peer, of: self)
        // The address was looked up a moment ago.
        connection.nameGeneration = names.generation
        connection.sender = context.sender
        shares.opened(connection)
        context.upstreamAddress = connection.address
        return connection
    }

    /// Returns a connection for a request with streamed content, once uploads use less than their share.
    ///
    /// - Throws: the errors of `acquire(_:until:)`.
    func acquireForUpload(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> UpstreamConnection {
        if !uploads.begin() {
            _ = try await wait(in: uploads.waiters, &context, limit)
        }
        do {
            let connection: UpstreamConnection
            if let quiet = takeIdle(&context) {
                connection = quiet
            } else {
                connection = try await acquire(&context, until: limit)
            }
            connection.holdsUploadShare = true
            return connection
        } catch {
            uploads.end()
            throw error
        }
    }

    /// Lets the next upload use a connection.
    func uploadEnded(on connection: UpstreamConnection) {
        guard connection.holdsUploadShare else { return }
        connection.holdsUploadShare = false
        uploads.end()
    }

    /// Takes a connection back after a complete exchange.
    func release(_ connection: UpstreamConnection) {
        uploadEnded(on: connection)
        if isClosing || open > peer.options.connections || !connection.canIdle()
            || !isCurrent(connection)
        {
            connection.close()
            return
        }
        connection.sender = nil
        if let waiter = shares.next(of: waiters) {
            guard waiter.demand == .new else { return waiter.grant(connection) }
            // The waiter's last connection was dead, so it gets this connection's slot and opens a new one.
            waiters.putBack(waiter)
            connection.close()
            return
        }
        connection.enterIdle()
        idle.add(connection)
    }

    /// Takes back a connection whose origin announced content that it must not send.
    ///
    /// The connection becomes idle only after a silence, so that the content is not read as the response to
    /// the next request.
    func releaseAfterSilence(_ connection: UpstreamConnection) {
        guard !isClosing, connection.canIdle() else { return connection.close() }
        connection.enterWatch(until: loop.deadline(after: OriginPool.silence))
    }

    /// Called by a connection that closes, in any state.
    func closed(_ connection: UpstreamConnection) {
        idle.remove(connection)
        shares.closed(connection)
        uploadEnded(on: connection)
        slotFreed()
    }

    // MARK: - Untrusted connections

    /// Closes the idle connections to an address after one of its connections was found dead.
    func distrust(_ address: String) {
        for connection in idle.all(where: { $0.address == address }) { connection.close() }
        shared?.leave { $0.address == address }
    }

    /// Closes all idle connections after a suspension of the machine.
    ///
    /// Their peers and the network devices on the path have forgotten them in the meantime, and none of our
    /// clocks has counted that time.
    func distrustAfterSuspension() {
        let present = loop.timeSuspended
        // A reading exceeds the true value by the time that the current turn has taken.
        let known = min(knownSuspension ?? present, present)
        knownSuspension = known
        guard present &- known > 2_000_000_000 else { return }
        knownSuspension = present
        while let connection = idle.take() { connection.close() }
        shared?.leave { _ in true }
    }

    /// Whether the connection's address is still among the addresses of its name.
    private func isCurrent(_ connection: UpstreamConnection) -> Bool {
        guard connection.nameGeneration != names.generation else { return true }
        connection.nameGeneration = names.generation
        return names.admits(connection.socket.peer)
    }

    /// Looks the name up again immediately, as after a reload.
    package func followNames() {
        guard names.isFollowed, open > 0 else { return }
        followNames(maximumAge: .zero)
    }

    /// Looks the name up in the background, and drops connections to addresses that it no longer has.
    ///
    /// Current exchanges end first.
    func followNames(maximumAge: Duration) {
        names.begin(at: loop.now)
        let host = peer.options.proxy?.host ?? peer.origin.host
        let port = peer.options.proxy?.port ?? peer.origin.port
        let (bound, loop, service) = (LoopBound(self, on: loop), loop, peer.options.nameSource)
        // The task is separate: no request waits for it, and it ends with the lookup.
        Task(executorPreference: loop) {
            let found = try? await Resolver.shared.addresses(
                of: host,
                port: port,
                for: service,
                maximumAge: maximumAge,
                on: loop,
                until: loop.deadline(after: .seconds(30))
            )
            guard let found else { return }
            bound.value.names.learn(found)
            let idle = bound.value.idle
            for connection in idle.all(where: { !bound.value.isCurrent($0) }) { connection.close() }
            bound.value.shared?.leave { !bound.value.names.admits($0.remote) }
        }
    }

    /// Closes idle connections now, and the others after their exchange.
    ///
    /// - Parameter onEmpty: called once no connection is left.
    package func close(onEmpty: (() -> Void)? = nil) {
        isClosing = true
        self.onEmpty = onEmpty
        while let connection = idle.take() { connection.close() }
        shared?.leave { _ in true }
        reportIfEmpty()
    }

    func reportIfEmpty() {
        guard isClosing, open + slowDials == 0, let report = onEmpty else { return }
        onEmpty = nil
        report()
    }

    func slotFreed() {
        open -= 1
        shared?.lookAgain()
        if open < peer.options.connections, let waiter = shares.next(of: waiters) {
            open += 1
            waiter.grant(nil)
        }
        reportIfEmpty()
    }

    /// Waits for a released connection, or for the right to open one (`nil`).
    func wait(
        in waiters: PoolQueue,
        for demand: PoolWaiter.Demand = .any,
        _ context: inout RequestContext,
        _ limit: UInt64
    ) async throws -> UpstreamConnection? {
        if let most = peer.options.queueLength, counts.queued >= most { throw queueFull }
        let start = loop.now
        let waiter = PoolWaiter(of: context.sender, for: demand)
        waiters.add(waiter)
        let end = min(loop.deadline(after: peer.options.queueTimeout), limit)
        if end < .max { loop.schedule(waiter, at: end) }
        let bound = LoopBound(waiter, on: loop)
        let loop = loop
        let grant = await withTaskCancellationHandler {
            await waiter.wait()
        } onCancel: {
            loop.submit { bound.value.cancel() }
        }
        loop.remove(waiter)
        // A waiter that gave up must not take up space.
        waiters.remove(waiter)
        let waited = Duration(elapsed: loop.now - start)
        context.timings.queue = (context.timings.queue ?? .zero) + waited
        switch grant {
        case .connection(let connection):
            context.isConnectionReused = true
            context.upstreamAddress = connection.address
            return connection
        case .slot: return nil
        case .failed(let error): throw error
        case .timedOut:
            throw limit <= loop.now
                ? NetworkError.overdueUnsent(after: context.deadlineSetting)
                : queueTimedOut
        case .cancelled: throw peer.error(.aborted, in: .connecting)
        }
    }

    private var queueFull: NetworkError {
        NetworkError(
            .connectionLimitReached,
            side: .proxy,
            retry: .unsafe,
            detail: "all connections of the pool to \(peer.origin.authority) are busy: "
                + "the queue is full" + dialsUnderWay,
            retryAfter: 1
        )
    }

    private var queueTimedOut: NetworkError {
        let error = peer.error(.timedOut, in: .queue)
        return NetworkError(
            error.kind,
            side: error.side,
            retry: error.retry,
            detail: error.detail + dialsUnderWay,
            retryAfter: error.retryAfter
        )
    }

    /// The remark that many connections of the pool do not exist yet.
    private var dialsUnderWay: String {
        let count = shares.dialCount
        guard 2 * count >= peer.options.connections else { return "" }
        return "; \(count) connection attempts to \(peer.origin.authority) are under way"
    }

    /// Connects, with TLS for `https`, and closes the connection, as a test.
    ///
    /// - Parameter limit: the deadline, on the loop's clock.
    /// - Returns: the duration.
    /// - Throws: the errors of dialing.
    package func connectOnce(until limit: UInt64) async throws -> Duration {
        let started = loop.now
        open += 1
        var context = RequestContext(requestID: "")
        do {
            let socket = try await dial(offering: peer.offer, &context, until: limit)
            let taken = Duration(elapsed: loop.now - started)
            let lacksHTTP2 = peer.insistsOnHTTP2 && !peer.speaksHTTP2(over: socket)
            socket.close()
            guard !lacksHTTP2 else { throw peer.lacksHTTP2 }
            slotFreed()
            return taken
        } catch {
            slotFreed()
            throw error
        }
    }

    /// Opens a connection; TLS, used for `https`, offers `protocols`.
    func dial(
        offering protocols: [String],
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> StreamSocket {
        let deadline = min(loop.deadline(after: peer.options.connectTimeout), limit)
        let socket = try await reach(&context, until: deadline)
        guard let tls else { return socket }
        let connected = loop.now
        do throws(IOError) {
            try await socket.startTLS(
                tls,
                serverName: peer.options.serverName ?? peer.origin.host,
                offering: protocols,
                until: deadline
            )
        } catch {
            socket.close()
            throw peer.error(error, in: .handshake)
        }
        context.timings.tls = Duration(elapsed: loop.now - connected)
        if socket.peerLacksPin { onUnpinnedPeer?() }
        return socket
    }

    /// Opens the connection that carries the requests, or TLS.
    private func reach(
        _ context: inout RequestContext,
        until deadline: UInt64
    ) async throws(NetworkError) -> StreamSocket {
        if let path = peer.options.unixSocket {
            return try await reach(path, &context, until: deadline)
        }
        let socket = try await HostDialer.connect(
            to: peer.options.proxy?.host ?? peer.options.dialedHost(for: peer.origin),
            port: peer.options.proxy?.port ?? peer.origin.port,
            as: peer.options.proxy?.name,
            admitting: peer.options.destinations,
            from: peer.options.nameSource,
            within: peer.setting(of: .connecting),
            on: loop,
            until: deadline,
            timings: &context.timings
        )
        if let proxy = peer.options.proxy, proxy.isSOCKS || tls != nil {
            let reached = loop.now
            do throws(NetworkError) {
                try await proxy.openTunnel(
                    over: socket,
                    to: peer.origin,
                    until: deadline,
                    within: peer.setting(of: .connecting)
                )
            } catch {
                socket.close()
                throw error
            }
            // The time that the proxy needs to reach the origin.
            context.timings.connect =
                (context.timings.connect ?? .zero) + Duration(elapsed: loop.now - reached)
        }
        return socket
    }

    /// Connects to a unix socket.
    private func reach(
        _ path: String,
        _ context: inout RequestContext,
        until deadline: UInt64
    ) async throws(NetworkError) -> StreamSocket {
        let started = loop.now
        guard let address = SocketAddress(unixPath: path) else {
            throw UpstreamOptions.unusable("unixSocket", "a path of 1 to 107 bytes", path)
        }
        do throws(IOError) {
            let socket = try await Dialer.connect(to: address, on: loop, until: deadline)
            context.timings.connect = Duration(elapsed: loop.now - started)
            return socket
        } catch {
            throw FaultTable.error(
                error,
                in: .connecting,
                to: "the unix socket \(path)",
                after: peer.setting(of: .connecting)
            )
        }
    }
}
