/// A connection that no longer speaks HTTP, after 101 (RFC 9110 §7.8) or CONNECT (§9.3.6): bytes in
/// both directions; not reading is the backpressure.
///
/// One task may read and one may write at a time. Its owner closes it; so does a task that is
/// cancelled while it reads or writes.
public protocol DuplexStream: AnyObject, Sendable {
    /// The next bytes, never empty; `nil` once the peer has sent its end.
    ///
    /// - Throws: `NetworkError`: `connection_read_timeout` when nothing came for the idle timeout, after
    ///   which one may go on reading; `connection_terminated`; `cancelled` once it is closed.
    func read() async throws -> ByteSlice?

    /// Sends bytes, and returns when the system has taken all of them.
    ///
    /// - Throws: `NetworkError`: `connection_write_timeout`, `connection_terminated`, `cancelled`.
    func write(_ bytes: ByteSlice) async throws

    /// Sends the end of the stream; reading continues.
    func finishWriting()

    /// Ends the connection, and every wait on it.
    ///
    /// Harmless after the end.
    func close()
}
