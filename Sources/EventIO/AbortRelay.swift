/// Where a connection's task waits elsewhere, so that the end of the connection ends the wait.
///
/// What a cancellation handler around each wait does too, at a tenth of its cost: the task carries
/// the relay as a task local, whoever waits for it leaves the socket here. Not `Sendable`.
package final class AbortRelay {
    /// The relay of the present task's connection.
    @TaskLocal package static var current: LoopBound<AbortRelay>?

    private var waiting: StreamSocket?
    private var isAborted = false

    /// Makes a relay.
    package init() {}

    /// Whether nobody waits through it.
    package var isFree: Bool { waiting == nil }

    /// Waits for the socket to have something to read, or for the end of the connection.
    ///
    /// - Throws: `.timedOut`, `.aborted`.
    package func waitReadable(
        _ socket: StreamSocket,
        until deadline: UInt64
    ) async throws(IOError) {
        guard !isAborted else {
            socket.abort()
            throw .aborted
        }
        waiting = socket
        defer { waiting = nil }
        try await socket.waitReadable(until: deadline)
    }

    /// The connection has come to its end: so does the wait.
    package func abort() {
        isAborted = true
        waiting?.abort()
    }
}
