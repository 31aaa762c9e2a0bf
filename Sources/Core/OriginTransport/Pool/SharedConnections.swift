import NetproxyEventIO
import NetworkCore

/// The connections of a pool in HTTP/2, and the requests that wait for one.
///
/// Not `Sendable`: it never leaves its loop.
final class SharedConnections {
    private var connections: [HTTP2Connection] = []
    /// Those that wait for a connection, or for room on one.
    let waiters = PoolQueue()
    /// Whether a connection is being opened.
    var isDialing = false

    /// The number of connections without an exchange.
    var idleCount: Int { connections.reduce(0) { $0 + ($1.count == 0 ? 1 : 0) } }

    /// One with room for another exchange: the oldest, so that others come to their end.
    @inline(__always)
    var free: HTTP2Connection? {
        if let first = connections.first, first.hasRoom { return first }
        return connections.first { $0.hasRoom }
    }

    func add(_ connection: HTTP2Connection) { connections.append(connection) }

    func remove(_ connection: HTTP2Connection) { connections.removeAll { $0 === connection } }

    /// Gives up those that meet a condition, after the exchanges on them.
    func leave(where isLeaving: (HTTP2Connection) -> Bool) {
        for connection in connections.filter(isLeaving) { connection.leave() }
    }

    /// One of those that wait looks again.
    func lookAgain() { waiters.takeWaiting()?.grant(nil) }

    /// All that wait look again.
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
    /// The origin speaks HTTP/1; the connection that showed it, if there is one.
    case http1(UpstreamConnection?)
}

/// Exchanges that share connections.
extension OriginPool {
    /// A connection in HTTP/2, if there is one with room.
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

    /// A connection in HTTP/2 with room, or the news that the origin speaks HTTP/1.
    ///
    /// One request opens a connection, and the others wait for it, since what they may do depends on what the
    /// origin chooses.
    ///
    /// - Throws: `connection_limit_reached` when the queue is full or the wait too long, and what dialling
    ///   throws.
    func share(
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> SharedRoute {
        distrustAfterSuspension()
        // A connection that was dead is closed; another would be the same one.
        context.requiresFreshConnection = false
        while mayShare, let shared {
            if let connection = takeShared() { return .http2(connection) }
            if shared.isDialing || open >= peer.options.connections {
                if let spare = idle.take() { spare.close() }
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
        do {
            let socket = try await dial(offering: peer.offer, &context, until: limit)
            shared.isDialing = false
            let isHTTP2 = tls == nil || socket.chosenProtocol == "h2"
            guard isHTTP2 else {
                guard peer.options.versions != .http2 else {
                    socket.close()
                    throw peer.lacksHTTP2
                }
                mayShare = false
                let connection = adopt(socket, &context)
                shared.allLookAgain()
                return .http1(connection)
            }
            let connection = HTTP2Connection(socket, to: peer, of: self)
            // Its first write may have failed.
            if connection.end == nil { shared.add(connection) }
            shared.allLookAgain()
            return .http2(connection)
        } catch {
            shared.isDialing = false
            let fault: any Error =
                limit <= loop.now
                ? NetworkError.overdue(error, after: context.deadlineSetting) : error
            // A caller that went away, or ran out of time, says nothing about the origin.
            if limit <= loop.now || (error as? NetworkError)?.kind == .cancelled {
                shared.lookAgain()
            } else {
                shared.fail(error)
            }
            slotFreed()
            throw fault
        }
    }

    /// From now on the origin is spoken to in HTTP/1; exchanges in HTTP/2 end first.
    func speaksHTTP1() {
        mayShare = false
        shared?.leave { _ in true }
        shared?.allLookAgain()
    }

    func exchangeEnded(on connection: HTTP2Connection) {
        if connection.hasRoom { shared?.lookAgain() }
    }

    func leaves(_ connection: HTTP2Connection) { shared?.allLookAgain() }

    func closed(_ connection: HTTP2Connection) {
        shared?.remove(connection)
        slotFreed()
        shared?.allLookAgain()
    }
}
