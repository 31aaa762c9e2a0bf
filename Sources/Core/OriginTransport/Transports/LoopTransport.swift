import NetproxyEventIO
import NetproxyHTTPMessage
package import NetworkCore

/// Sends over the pool of one loop; must be called on that loop.
///
/// The daemon uses it directly; `PooledTransport` calls it from any executor. Every wait of an attempt ends
/// at the context's deadline: for a connection, for the handshake, for the kernel, for the response.
package struct LoopTransport: HTTPTransport {
    private let pool: LoopBound<OriginPool>

    /// Creates a transport over a pool.
    package init(_ pool: OriginPool) {
        self.pool = LoopBound(pool, on: pool.loop)
    }

    /// Returns the transport itself: every attempt ends at the context's deadline.
    package func timed(by clock: any NetworkClock) -> any HTTPTransport { self }

    // Inlined: the protocol witness would otherwise need a separate frame.
    @inline(__always)
    package func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        let pool = pool.value
        let limit = context.hasDeadline ? try pool.limit(of: context) : .max
        context.attempts += 1
        if pool.mayShare, !request.headers.contains(KnownField.upgrade) {
            return try await share(request, over: pool, &context, until: limit)
        }
        if request.body.isStream {
            return try await upload(request, over: pool, &context, until: limit)
        }
        if let connection = pool.takeIdle(&context) {
            if context.sendCondition != nil { try check(context, before: connection, of: pool) }
            return try await connection.send(consume request, context: &context, until: limit)
        }
        let connection = try await pool.acquire(&context, until: limit)
        if context.sendCondition != nil { try check(context, before: connection, of: pool) }
        return try await connection.send(request, context: &context, until: limit)
    }

    /// Releases the connection if the request must no longer be sent.
    // Never inlined: few requests have a condition.
    @inline(never)
    private func check(
        _ context: borrowing RequestContext,
        before connection: UpstreamConnection,
        of pool: OriginPool
    ) throws(NetworkError) {
        guard let refusal = LoopTransport.refusal(context) else { return }
        pool.release(connection)
        throw refusal
    }

    private static func refusal(_ context: borrowing RequestContext) -> NetworkError? {
        guard let condition = context.sendCondition, !condition.holds() else { return nil }
        return NetworkError(
            .httpRequestDenied,
            side: .proxy,
            retry: .safe,
            detail: "the request came too late to be sent"
        )
    }

    /// Sends a request on a shared connection.
    // Never inlined: see `upload`.
    @inline(never)
    private func share(
        _ request: Request,
        over pool: OriginPool,
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        var unsent = 0
        while true {
            let connection: HTTP2Connection
            if let free = pool.takeShared() {
                connection = free
            } else {
                switch try await pool.share(&context, until: limit) {
                case .http2(let other): connection = other
                case .http1(let fresh):
                    return try await sendAlone(
                        request,
                        on: fresh,
                        over: pool,
                        &context,
                        until: limit
                    )
                }
            }
            if context.sendCondition != nil, let refusal = LoopTransport.refusal(context) {
                throw refusal
            }
            do {
                let response = try await connection.send(request, context: &context, until: limit)
                // RFC 9110 §15.5.20: another connection may be the right one.
                guard response.status == 421, request.body.isInMemory, !pool.peer.insistsOnHTTP2
                else {
                    return response
                }
                response.body.cancel()
                context.attempts += 1
                return try await sendAlone(request, on: nil, over: pool, &context, until: limit)
            } catch let refusal as HTTP2Refusal {
                // Every send is an attempt, so a refused request is repeated by the chain.
                switch refusal {
                case .refused(let error): throw error
                case .needsHTTP1(let error):
                    if !pool.peer.insistsOnHTTP2 { pool.speaksHTTP1() }
                    throw error
                case .unsent(let error):
                    unsent += 1
                    guard request.body.isInMemory, unsent <= 2 else { throw error }
                }
            }
        }
    }

    /// Sends a request in HTTP/1.
    private func sendAlone(
        _ request: Request,
        on fresh: UpstreamConnection?,
        over pool: OriginPool,
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        context.version = .http11
        guard !request.body.isStream else {
            fresh.map(pool.release)
            return try await upload(request, over: pool, &context, until: limit)
        }
        let connection: UpstreamConnection
        if let fresh {
            connection = fresh
        } else if let idle = pool.takeIdle(&context) {
            connection = idle
        } else {
            connection = try await pool.acquire(&context, until: limit)
        }
        if context.sendCondition != nil { try check(context, before: connection, of: pool) }
        return try await connection.send(request, context: &context, until: limit)
    }

    /// Sends a request with streamed content, within the pool's share for uploads.
    // Never inlined: its variables would otherwise enlarge the frames of other requests.
    @inline(never)
    private func upload(
        _ request: Request,
        over pool: OriginPool,
        _ context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        let connection = try await pool.acquireForUpload(&context, until: limit)
        return try await connection.send(request, context: &context, until: limit)
    }
}
