import EventIO
package import NetworkCore

/// Sends over the pool of one loop; called on that loop only.
///
/// The daemon uses it as it is, `PooledTransport` from any executor. Every wait in an attempt ends at
/// the context's deadline: for a connection, for the handshake, for the kernel, for the response.
package struct LoopTransport: HTTPTransport {
    private let pool: LoopBound<OriginPool>

    /// Sends over a pool.
    package init(_ pool: OriginPool) {
        self.pool = LoopBound(pool, on: pool.loop)
    }

    /// Itself: every attempt ends at the context's deadline.
    package func timed(by clock: any NetworkClock) -> any HTTPTransport { self }

    // Its witness would need a separate frame otherwise.
    @inline(__always)
    package func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        let pool = pool.value
        let limit = context.hasDeadline ? try pool.limit(of: context) : .max
        context.attempts += 1
        if request.body.isStream {
            return try await upload(request, over: pool, &context, until: limit)
        }
        if let connection = pool.takeIdle(&context) {
            return try await connection.send(consume request, context: &context, until: limit)
        }
        let connection = try await pool.acquire(&context, until: limit)
        return try await connection.send(request, context: &context, until: limit)
    }

    /// Sends a request whose content is still to come, within the share of the pool for those.
    // Never inlined: other requests would make room for what it waits with.
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
