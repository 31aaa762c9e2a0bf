/// A connection that has left HTTP after 101 (RFC 9110 §7.8) or CONNECT (§9.3.6), with bytes in both
/// directions.
///
/// A reader that does not read applies backpressure. One task may read and one may write at a time. The owner
/// closes the stream; the cancellation of a task that reads or writes closes it, too.
public protocol DuplexStream: AnyObject, Sendable {
    /// Returns the next bytes, never empty; `nil` after the peer has ended its side.
    ///
    /// - Throws: `NetworkError`: `connection_read_timeout` if nothing arrived within the idle timeout, after
    ///   which
    ///   reading may continue; `connection_terminated`; `cancelled` after it was closed.
    func read() async throws -> ByteSlice?

    /// Sends bytes, and returns after the system has accepted all of them.
    ///
    /// - Throws: `NetworkError`: `connection_write_timeout`, `connection_terminated`, `cancelled`.
    func write(_ bytes: ByteSlice) async throws

    /// Sends the end of the stream; reading continues.
    func finishWriting()

    /// Closes the connection and ends every wait on it; does nothing after the end.
    func close()
}
