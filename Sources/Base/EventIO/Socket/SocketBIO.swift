import CNetproxyOpenSSL

/// The BIO through which OpenSSL reads and writes a socket.
///
/// It shares the socket's knowledge of the kernel's buffers, which saves system calls.
enum SocketBIO {
    // SAFETY: created once, never freed, and not changed afterward.
    nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = unsafe BIO_meth_new(
            BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
            "netproxy socket"
        )
        unsafe BIO_meth_set_read(method, tlsRead)
        unsafe BIO_meth_set_write(method, tlsWrite)
        unsafe BIO_meth_set_ctrl(method, tlsControl)
        return unsafe method
    }()

    /// Reads for OpenSSL.
    static func read(
        _ bytes: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        _ bio: OpaquePointer?,
        from socket: NonblockingSocket
    ) -> Int32 {
        unsafe netproxy_BIO_clear_retry(bio)
        guard unsafe socket.readiness.mayBeReadable else {
            unsafe netproxy_BIO_retry_read(bio)
            return -1
        }
        switch unsafe socket.receive(bytes, count) {
        case .count(let received): return Int32(clamping: received)
        case .wouldBlock: unsafe netproxy_BIO_retry_read(bio)
        case .failure: break
        }
        return -1
    }

    /// Writes for OpenSSL.
    static func write(
        _ bytes: UnsafePointer<CChar>?,
        _ count: Int,
        _ bio: OpaquePointer?,
        to socket: NonblockingSocket
    ) -> Int32 {
        unsafe netproxy_BIO_clear_retry(bio)
        switch unsafe socket.recordSend(socket.descriptor.send(bytes, count)) {
        case .count(let sent): return Int32(clamping: sent)
        case .wouldBlock: unsafe netproxy_BIO_retry_write(bio)
        case .failure: break
        }
        return -1
    }
}
