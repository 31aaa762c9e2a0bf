import EventIO
package import NetworkCore

/// Sends over the pool of one loop; called on that loop only.
///
/// What the daemon uses.
package struct LoopTransport: HTTPTransport {
    private let pool: LoopBound<OriginPool>

    /// Sends over a pool.
    package init(_ pool: OriginPool) {
        self.pool = LoopBound(pool, on: pool.loop)
    }

    // Its witness has a frame of its own otherwise.
    @inline(__always)
    package func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        let pool = pool.value
        context.attempts += 1
        if let connection = pool.takeIdle(&context) {
            return try await connection.send(consume request, context: &context)
        }
        let connection = try await pool.acquire(&context)
        return try await connection.send(request, context: &context)
    }
}
