/// The known state of the kernel's buffers for an edge-triggered socket.
///
/// The kernel reports a change once. The socket counts as readable and writable until a call finds otherwise,
/// and then as blocked until the next report.
struct SocketReadiness {
    /// Whether the kernel may have bytes, the end of the stream, or an error.
    private(set) var mayBeReadable = true
    private(set) var isWritable = true
    /// Whether the peer has ended its stream, or the connection broke.
    private(set) var isPeerClosed = false

    /// Handles a report that the socket is readable.
    @inline(__always)
    mutating func becameReadable() { mayBeReadable = true }

    /// Handles a report that the socket is writable.
    @inline(__always)
    mutating func becameWritable() { isWritable = true }

    /// Handles the end of the peer's stream or a broken connection, which can still be read.
    mutating func peerClosed() {
        isPeerClosed = true
        mayBeReadable = true
    }

    /// Handles a read that returned the end of the stream or an error.
    mutating func readEnd() { isPeerClosed = true }

    /// Handles a read of up to `room` bytes that returned `count`.
    ///
    /// - Returns: whether the kernel probably has no more bytes. A short read indicates that, unless the end
    ///   of the stream came in the same report.
    @inline(__always)
    mutating func didRead(_ count: Int, of room: Int) -> Bool {
        guard count < room, !isPeerClosed else { return false }
        mayBeReadable = false
        return true
    }

    /// Handles a read that found nothing.
    @inline(__always)
    mutating func drained() { mayBeReadable = false }

    /// Handles a write that found no room, or a connection that is not open yet.
    mutating func filled() { isWritable = false }
}
