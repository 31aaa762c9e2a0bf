import CNetproxyOpenSSL
import NetproxyBytes

/// One TLS connection over a socket, through `SocketBIO`.
// SAFETY: owned by its socket; the BIO's pointer to the socket is freed with the SSL in `deinit`.
@safe final class TLSSession {
    private let ssl: OpaquePointer
    private let context: TLSContext
    private let serverName: String
    /// Whether the peer has no pinned key and pins are only reported.
    private(set) var lacksPin = false

    /// Prepares a client connection to `serverName`, a host name or an IP address.
    init(
        _ context: TLSContext,
        serverName: String,
        protocols: [String],
        over socket: NonblockingSocket
    ) throws(IOError) {
        guard let ssl = unsafe SSL_new(context.context), let bio = unsafe BIO_new(SocketBIO.method)
        else { throw .system("OpenSSL: \(openSSLError())") }
        unsafe self.ssl = ssl
        self.context = context
        self.serverName = serverName
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(socket).toOpaque())
        unsafe BIO_set_init(bio, 1)
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe SSL_set_connect_state(ssl)
        let isAddress = SocketAddress(ip: serverName, port: 0) != nil
        let accepted: Bool
        if isAddress {
            accepted = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName) == 1
        } else {
            // RFC 9110 §4.3.4: a name in the subject's CN does not name the origin.
            let flags =
                X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
            unsafe SSL_set_hostflags(ssl, UInt32(flags))
            accepted =
                unsafe SSL_set1_host(ssl, serverName) == 1
                && netproxy_SSL_set_server_name(ssl, serverName) == 1
        }
        // RFC 7301 §3.1: a length precedes each name.
        let offer = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !offer.isEmpty { _ = unsafe SSL_set_alpn_protos(ssl, offer, UInt32(offer.count)) }
        ERR_clear_error()
        guard accepted else {
            throw .tlsCertificate("'\(serverName)' is not a valid TLS server name")
        }
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// The protocol chosen by the peer; `nil` if it chose none.
    var chosenProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name = unsafe name, count > 0 else { return nil }
        let bytes = unsafe Span(_unsafeStart: name, count: Int(count))
        return bytes.string(in: 0..<bytes.count)
    }

    /// Performs the handshake, and verifies the peer's name and pins.
    func handshake(_ socket: NonblockingSocket, until deadline: UInt64) async throws(IOError) {
        defer { ERR_clear_error() }
        while true {
            ERR_clear_error()
            let code = unsafe SSL_do_handshake(ssl)
            if code == 1 { break }
            switch unsafe SSL_get_error(ssl, code) {
            case SSL_ERROR_WANT_READ: try await socket.waitReadable(until: deadline)
            case SSL_ERROR_WANT_WRITE: try await socket.waitWritable(until: deadline)
            default: throw handshakeFailure()
            }
        }
        try checkPins()
    }

    /// The condition for repeating the last call: `SSL_READING` or `SSL_WRITING`.
    ///
    /// `SSL_get_error` would be wrong if the thread's queue contains another connection's error. Clearing the
    /// queue before each call takes about 800 instructions.
    private var wanted: Int32 { unsafe netproxy_SSL_wanted(ssl) }

    /// Decrypts a record; returns `nil` if no complete record has arrived, 0 at a clean end.
    func read(
        into buffer: ReadBuffer,
        from socket: NonblockingSocket
    ) throws(IOError) -> Int? {
        var code: Int32 = 0
        let count = unsafe buffer.withFreeSpace { free in
            code = unsafe SSL_read(ssl, free.baseAddress, Int32(clamping: free.count))
            return Int(max(code, 0))
        }
        if count > 0 {
            if unsafe SSL_has_pending(ssl) == 1 { unsafe socket.readiness.becameReadable() }
            return count
        }
        return try readOutcome(code, socket)
    }

    /// Processes TLS records without content (session tickets), so that the connection counts as quiet.
    func probe(_ socket: NonblockingSocket) {
        var byte: UInt8 = 0
        let code = unsafe SSL_peek(ssl, &byte, 1)
        if code > 0 {
            unsafe socket.readiness.becameReadable()
        } else {
            _ = try? readOutcome(code, socket)
        }
    }

    private func readOutcome(_ code: Int32, _ socket: NonblockingSocket) throws(IOError) -> Int? {
        // OpenSSL may need to write: the response to a key update waits for the kernel, then reading
        // continues.
        guard wanted == SSL_NOTHING else { return nil }
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_ZERO_RETURN:
            unsafe socket.readiness.readEnd()
            return 0
        case SSL_ERROR_SYSCALL:
            // The stream ended without close_notify, so the content may be truncated.
            unsafe socket.readiness.readEnd()
            throw socket.lastFault
        default:
            unsafe socket.readiness.readEnd()
            throw .tlsProtocol(openSSLError())
        }
    }

    /// Encrypts some of the bytes after the first `offset`; returns `nil` if the kernel's buffer is full.
    func write(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int,
        to socket: NonblockingSocket
    ) throws(IOError) -> Int? {
        let code: Int32
        // SAFETY: the caller keeps output and body alive during the call.
        if offset < output.count {
            code = unsafe SSL_write(
                ssl,
                output.unsafeAddress + offset,
                Int32(clamping: output.count - offset)
            )
        } else if let body {
            let start = offset - output.count
            code = unsafe SSL_write(
                ssl,
                body.unsafeAddress + start,
                Int32(clamping: body.count - start)
            )
        } else {
            return 0
        }
        if code > 0 { return Int(code) }
        guard wanted != SSL_WRITING else { return nil }
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_SYSCALL: throw socket.lastFault
        default: throw .tlsProtocol(openSSLError())
        }
    }

    /// Sends a close_notify if the kernel has room for it.
    func shutdown() {
        guard unsafe SSL_is_init_finished(ssl) == 1 else { return }
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func handshakeFailure() -> IOError {
        let verdict = unsafe SSL_get_verify_result(ssl)
        guard verdict == Int(X509_V_OK) else {
            ERR_clear_error()
            let reason =
                unsafe X509_verify_cert_error_string(verdict).map { unsafe String(cString: $0) }
            let names =
                verdict == Int(X509_V_ERR_HOSTNAME_MISMATCH)
                ? ": no subjectAltName matches \(serverName)" : ""
            return .tlsCertificate((reason ?? "not trusted") + names)
        }
        let reason = openSSLError()
        let isUnknown = reason == "no reason given"
        let words = isUnknown ? "the peer closed the connection during the handshake" : reason
        // OpenSSL's reasons for the response of a server without TLS.
        let isPlain = ["wrong version number", "packet length too long", "http request"]
            .contains { reason.contains($0) }
        return .tlsProtocol(isUnknown || isPlain ? "\(words); does the server speak TLS?" : words)
    }

    /// Checks the pins in the spirit of RFC 7469 §2.6: one pinned key anywhere in the verified chain
    /// suffices.
    private func checkPins() throws(IOError) {
        guard !context.pins.isEmpty else { return }
        let chain = unsafe SSL_get0_verified_chain(ssl)
        let count = unsafe OPENSSL_sk_num(chain)
        for index in 0..<max(count, 0) {
            guard let certificate = unsafe OPENSSL_sk_value(chain, index) else { continue }
            let pin = unsafe CertificatePin(OpaquePointer(certificate))
            if let pin, context.pins.contains(pin) { return }
        }
        guard context.enforcesPins else {
            lacksPin = true
            return
        }
        throw .tlsCertificate("no certificate in the chain has a pinned key")
    }
}
