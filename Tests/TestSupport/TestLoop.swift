package import EventIO
import System

/// The event loop of all origins and clients of a test process; the daemon has loops of its own.
///
/// It is never stopped, so that what belongs to it can always be closed on it.
package enum TestLoop {
    private static let started: Result<EventLoop, any Error> = Result {
        let loop = try EventLoop(index: 99)
        ProcessSignal.ignoreBrokenPipes()
        try loop.start()
        return loop
    }

    /// The loop, running.
    package static func shared() throws -> EventLoop { try started.get() }
}
