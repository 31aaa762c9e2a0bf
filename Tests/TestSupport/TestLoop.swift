package import NetproxyEventIO
import NetproxySystem

/// The event loop of all origins and clients in a test process; daemons have their own loops.
///
/// It is never stopped, so that its sockets can always be closed.
package enum TestLoop {
    private static let started: Result<EventLoop, any Error> = Result {
        let loop = try EventLoop(index: 99)
        ProcessSignal.ignoreBrokenPipes()
        try loop.start()
        return loop
    }

    /// Returns the running loop.
    package static func shared() throws -> EventLoop { try started.get() }
}
