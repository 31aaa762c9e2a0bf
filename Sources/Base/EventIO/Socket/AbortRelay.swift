/// Ends the wait of a connection's task on another connection when its own connection ends.
///
/// A cancellation handler around each wait would do the same at ten times the cost: the task carries the
/// relay as a task local, and registers its wait here. Not `Sendable`.
package final class AbortRelay {
    /// The relay of the present task's connection.
    ///
    /// Tasks inherit it from those that start them: who sends for others does not ask for it.
    @TaskLocal package static var current: Reference?

    /// A relay as a task carries it: an object, since a value would be copied by its description each
    /// time somebody asks.
    package final class Reference: Sendable {
        /// The relay, for its loop.
        package let relay: LoopBound<AbortRelay>

        /// Binds a relay to its loop.
        package init(_ relay: AbortRelay, on loop: EventLoop) {
            self.relay = LoopBound(relay, on: loop)
        }
    }

    private var waiting: StreamSocket?
    /// The wait on a shared connection.
    private var sharing: (any Abortable)?
    private var isAborted = false

    /// Makes a relay.
    package init() {}

    /// Whether nothing waits through it.
    package var isFree: Bool { waiting == nil && sharing == nil }

    /// Makes the end of the connection end the next wait for this socket.
    ///
    /// - Throws: `.aborted` when the end has come already.
    package func hold(_ socket: StreamSocket) throws(IOError) {
        guard !isAborted else {
            socket.abort()
            throw .aborted
        }
        waiting = socket
    }

    /// Makes the end of the connection end a wait on a shared connection.
    package func hold(sharing waiter: any Abortable) throws(IOError) {
        guard !isAborted else {
            waiter.abort()
            throw .aborted
        }
        sharing = waiter
    }

    /// The wait is over.
    package func release() {
        waiting = nil
    }

    /// The wait on a shared connection is over.
    package func releaseShared() {
        sharing = nil
    }

    /// The connection has come to its end: so does the wait.
    package func abort() {
        isAborted = true
        waiting?.abort()
        sharing?.abort()
    }
}

/// Something whose waits can be ended.
package protocol Abortable: AnyObject {
    /// Ends every wait with `.aborted`.
    func abort()
}
