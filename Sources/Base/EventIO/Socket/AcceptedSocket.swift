import Glibc
import Synchronization

/// A connection that was accepted on one loop, on its way to another.
///
/// If it is dropped on the way, it is closed.
// SAFETY: the descriptor is taken out once, and belongs to the taker.
package final class AcceptedSocket: Sendable {
    private let descriptor: Atomic<Int32>
    private let peer: SocketAddress

    init(descriptor: Int32, peer: SocketAddress) {
        self.descriptor = Atomic(descriptor)
        self.peer = peer
    }

    deinit {
        let left = take()
        if left >= 0 { _ = close(left) }
    }

    /// Opens it on the loop that it was handed to; once.
    ///
    /// - Throws: `IOError.exhausted`, and then it is closed.
    package func open(on loop: EventLoop) throws(IOError) -> StreamSocket {
        let own = take()
        precondition(own >= 0, "a connection is opened once")
        return try StreamSocket(descriptor: own, peer: peer, on: loop)
    }

    private func take() -> Int32 {
        descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    }
}
