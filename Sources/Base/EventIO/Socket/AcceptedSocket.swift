import Glibc
import Synchronization

/// An accepted connection on its way from one loop to another.
///
/// If it is released on the way, it is closed.
// SAFETY: the descriptor is taken out once and then belongs to the caller.
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

    /// Opens the connection on its new loop; must be called once.
    ///
    /// - Throws: `IOError.exhausted`; the connection is then closed.
    package func open(on loop: EventLoop) throws(IOError) -> StreamSocket {
        let own = take()
        precondition(own >= 0, "a connection is opened once")
        return try StreamSocket(descriptor: own, peer: peer, on: loop)
    }

    private func take() -> Int32 {
        descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    }
}
