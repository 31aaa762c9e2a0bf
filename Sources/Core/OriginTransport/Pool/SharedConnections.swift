import NetproxyEventIO
import NetproxySettings
import NetworkCore

/// The HTTP/2 connections of a pool, and the requests that wait for one.
///
/// Not `Sendable`: it never leaves its loop.
final class SharedConnections {
    private var connections: [HTTP2Connection] = []
    /// The requests that wait for a connection, or for room on one.
    let waiters = PoolQueue()
    /// Whether a connection is being opened.
    var isDialing = false

    /// The number of connections without an exchange.
    var idleCount: Int { connections.reduce(0) { $0 + ($1.count == 0 ? 1 : 0) } }

    /// The oldest connection with room for another exchange, so that newer ones become idle and close.
    @inline(__always)
    var free: HTTP2Connection? {
        if let first = connections.first, first.hasRoom { return first }
        return connections.first { $0.hasRoom }
    }

    /// Whether the limits of a new connection are not known yet.
    var isAwaitingSettings: Bool {
        connections.contains { $0.admission.isAwaitingSettings && !$0.isLeaving }
    }

    func add(_ connection: HTTP2Connection) { connections.append(connection) }

    func remove(_ connection: HTTP2Connection) { connections.removeAll { $0 === connection } }

    /// Retires the connections that meet a condition, after their exchanges.
    func leave(where isLeaving: (HTTP2Connection) -> Bool) {
        for connection in connections.filter(isLeaving) { connection.leave() }
    }

    /// Wakes the next waiter, which then looks for a connection again.
    func lookAgain() { waiters.takeWaiting()?.grant(nil) }

    /// Wakes all waiters, which then look for a connection again.
    func allLookAgain() {
        while let waiter = waiters.takeWaiting() { waiter.grant(nil) }
    }

    /// Fails all waiters, since the awaited connection has failed.
    func fail(_ error: any Error) {
        while let waiter = waiters.takeWaiting() { waiter.fail(error) }
    }
}

/// The connection for an exchange.
enum SharedRoute {
    case http2(HTTP2Connection)
    /// The origin speaks HTTP/1; contains the connection that showed it, if any.
    case http1(UpstreamConnection?)
}

/// Exchanges that share HTTP/2 connections.
extension OriginPool {
    /// Returns an HTTP/2 connection with room, if there is one.
    @inline(__always)
    func takeShared() -> HTTP2Connection? {
        if names.isDue(at: loop.now) { followNames(maximumAge: NameWatch.tolerance) }
        while let connection = shared?.free {
            guard connection.count == 0 else { return connection }
            connection.settle()
            if connection.hasRoom { return connection }
        }
        return nil
    }

    /// Returns an HTTP/2 connection with room, or `http1` if the origin speaks HTTP/1.
    ///
    /// One request opens a connection, and the others wait for it, since they depend on the origin's choice.
    ///
    /// - Throws: `connection_limit_reached` if the queue is full or the wait takes too long, and the errors
    ///   of dialing.
    func share(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> SharedRoute {
        distrustAfterSuspension()
        // A dead connection is already closed; there is no other one to avoid.
        context.requiresFreshConnection = false
        while mayShare, let shared {
            if let connection = takeShared() { return .http2(connection) }
            if shared.isDialing || shared.isAwaitingSettings || open >= peer.options.connections {
                if open >= peer.options.connections, let spare = idle.take() { spare.close() }
                _ = try await wait(in: shared.waiters, &context, limit)
                continue
            }
            return try await open(shared, &context, until: limit)
        }
        return .http1(nil)
    }

    private func open(
        _ shared: SharedConnections,
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> SharedRoute {
        shared.isDialing = true
        open += 1
        // If the attempt takes long, another request may begin one beside it.
        let attempt = PoolDial(in: self, for: context.sender) { shared.isDialing = false }
        do {
            let socket = try await dial(offering: peer.offer, &context, until: limit)
            let speaksHTTP2 = peer.speaksHTTP2(over: socket)
            guard speaksHTTP2 || !peer.insistsOnHTTP2 else {
                socket.close()
                throw peer.lacksHTTP2
            }
            if !attempt.isSlow { shared.isDialing = false }
            attempt.succeed()
            guard speaksHTTP2 else {
                mayShare = false
                let connection = adopt(socket, &context)
                shared.allLookAgain()
                return .http1(connection)
            }
            let connection = HTTP2Connection(socket, to: peer, of: self)
            // The connection's first write may have failed.
            if connection.end == nil { shared.add(connection) }
            // This request goes first; the others wait for the SETTINGS.
            if !connection.admission.isAwaitingSettings { shared.allLookAgain() }
            return .http2(connection)
        } catch {
            if !attempt.isSlow { shared.isDialing = false }
            let fault: any Error =
                limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
            // A caller that canceled or ran out of time reveals nothing about the origin.
            if limit <= loop.now || (error as? NetworkError)?.kind == .cancelled {
                shared.lookAgain()
            } else if !attempt.isSlow {
                shared.fail(error)
            }
            attempt.fail()
            throw fault
        }
    }

    /// Switches the origin to HTTP/1; HTTP/2 exchanges end first.
    func speaksHTTP1() {
        mayShare = false
        shared?.leave { _ in true }
        shared?.allLookAgain()
    }

    func exchangeEnded(on connection: HTTP2Connection) {
        guard let shared, connection.hasRoom else { return }
        for _ in 0..<min(connection.room, shared.waiters.count) { shared.lookAgain() }
    }

    func settled(_ connection: HTTP2Connection) { shared?.allLookAgain() }

    func leaves(_ connection: HTTP2Connection) { shared?.allLookAgain() }

    func closed(_ connection: HTTP2Connection) {
        shared?.remove(connection)
        slotFreed()
        shared?.allLookAgain()
    }
}
