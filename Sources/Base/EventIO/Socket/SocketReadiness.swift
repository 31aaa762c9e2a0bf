/// The state of the kernel's buffers, as far as an edge-triggered socket knows it.
///
/// The kernel reports a change once. Until a call finds otherwise, the socket counts as readable and
/// writable; after that, until the next report.
struct SocketReadiness {
    /// Whether the kernel may hold bytes, the end of the stream or a fault for us.
    private(set) var mayBeReadable = true
    private(set) var isWritable = true
    /// Whether the peer has sent its end of the stream, or the connection broke.
    private(set) var isPeerClosed = false

    /// The kernel reports that it may be read.
    @inline(__always)
    mutating func becameReadable() { mayBeReadable = true }

    /// The kernel reports that it may be written.
    @inline(__always)
    mutating func becameWritable() { isWritable = true }

    /// The peer has ended its stream, or the connection broke: the end can be read.
    mutating func peerClosed() {
        isPeerClosed = true
        mayBeReadable = true
    }

    /// A read has met the end of the stream or a fault.
    mutating func readEnd() { isPeerClosed = true }

    /// A read of up to `room` bytes has returned `count`.
    ///
    /// - Returns: whether the kernel holds no more, as far as that is known. A short read means that,
    ///   unless the end of the stream came with the same report.
    @inline(__always)
    mutating func didRead(_ count: Int, of room: Int) -> Bool {
        guard count < room, !isPeerClosed else { return false }
        mayBeReadable = false
        return true
    }

    /// A read found nothing.
    @inline(__always)
    mutating func drained() { mayBeReadable = false }

    /// A write found no room, or there is no connection yet.
    mutating func filled() { isWritable = false }
}
