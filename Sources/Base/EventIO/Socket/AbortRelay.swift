/// Where a connection's task waits elsewhere, so that the end of the connection ends the wait.
///
/// What a cancellation handler around each wait does too, at a tenth of its cost: the task carries
/// the relay as a task local, and what waits for it leaves itself here. Not `Sendable`.
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
    /// What waits on a connection that others share.
    private var sharing: (any Abortable)?
    private var isAborted = false

    /// Makes a relay.
    package init() {}

    /// Whether nothing waits through it.
    package var isFree: Bool { waiting == nil && sharing == nil }

    /// Has the end of the connection end the wait for this socket that follows.
    ///
    /// - Throws: `.aborted` when the end has come already.
    package func hold(_ socket: StreamSocket) throws(IOError) {
        guard !isAborted else {
            socket.abort()
            throw .aborted
        }
        waiting = socket
    }

    /// The same for what waits on a shared connection.
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
