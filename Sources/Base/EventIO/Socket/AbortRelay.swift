/// Ends the wait of a connection's task on another connection when its own connection ends.
///
/// A cancellation handler around each wait would have the same effect at ten times the cost. Instead, the
/// task carries the relay as a task local, and registers its waits with it. Not `Sendable`.
package final class AbortRelay {
    /// The relay of the current task's connection.
    ///
    /// Tasks inherit it from their parents. A task that sends on behalf of others must not read it.
    @TaskLocal package static var current: Reference?

    /// A relay in a task local.
    ///
    /// It is an object, since a value would be copied through its type metadata on each access.
    package final class Reference: Sendable {
        /// The relay, bound to its loop.
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

    /// Creates a relay.
    package init() {}

    /// Whether nothing waits through the relay.
    package var isFree: Bool { waiting == nil && sharing == nil }

    /// Makes the end of the connection end the next wait for this socket.
    ///
    /// - Throws: `.aborted` if the connection has already ended.
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

    /// Removes the wait, which is over.
    package func release() {
        waiting = nil
    }

    /// Removes the wait on a shared connection, which is over.
    package func releaseShared() {
        sharing = nil
    }

    /// Handles the end of the connection by ending the wait.
    package func abort() {
        isAborted = true
        waiting?.abort()
        sharing?.abort()
    }
}

/// An object with waits that can be ended.
package protocol Abortable: AnyObject {
    /// Ends every wait with `.aborted`.
    func abort()
}
