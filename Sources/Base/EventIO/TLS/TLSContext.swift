import CNetproxyOpenSSL
import NetproxyBytes
package import NetproxySettings
import NetproxySystem

/// The demands of a client on a TLS peer, shared by all connections with the same demands.
// SAFETY: an SSL_CTX counts its references atomically and is not changed after `init`.
@safe package final class TLSContext: @unchecked Sendable {
    let context: OpaquePointer
    let pins: Set<CertificatePin>
    let enforcesPins: Bool

    /// Reads the files and checks that the certificate matches the key.
    ///
    /// - Throws: `IOError.system` that names the file and OpenSSL's reason.
    package init(_ demands: TLSDemands) throws(IOError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw .system("OpenSSL: \(openSSLError())")
        }
        unsafe self.context = context
        pins = Set(demands.pins)
        enforcesPins = demands.pinMode == .enforce
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        let minimum = demands.minimum == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION
        _ = unsafe netproxy_SSL_CTX_set_minimum(context, minimum)
        unsafe netproxy_SSL_CTX_read_ahead(context)
        let mode =
            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
            | SSL_MODE_RELEASE_BUFFERS
        _ = unsafe netproxy_SSL_CTX_set_mode(context, Int(mode))
        _ = unsafe SSL_CTX_set_options(context, UInt64(1) << 30)  // SSL_OP_NO_RENEGOTIATION
        if let text = demands.authorities, PEMText.isOne(text) {
            try trust(text)
        } else if let file = demands.authorities {
            guard unsafe SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
                throw .system("the CA file \(file) cannot be used: \(openSSLError())")
            }
        }
        if demands.authorities == nil || demands.systemRoots == .trusted {
            guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw .system("the system's CA certificates cannot be used: \(openSSLError())")
            }
        }
        guard let own = demands.clientCertificate else { return }
        if PEMText.isOne(own.certificate) {
            try show(own.certificate)
        } else if unsafe SSL_CTX_use_certificate_chain_file(context, own.certificate) != 1 {
            throw .system("the certificate \(own.certificate) cannot be used: \(openSSLError())")
        }
        try readKey(own.key)
    }

    /// Trusts the certificates in a text.
    private func trust(_ text: String) throws(IOError) {
        let store = unsafe SSL_CTX_get_cert_store(context)
        let count = unsafe PEMText.certificates(of: text) { certificate, _ in
            unsafe X509_STORE_add_cert(store, certificate) == 1
        }
        guard count != nil, count != 0 else {
            throw .system("the CA certificates that were given cannot be used: \(openSSLError())")
        }
    }

    /// Adds the certificates in a text to our own chain, our own certificate first.
    private func show(_ text: String) throws(IOError) {
        let count = unsafe PEMText.certificates(of: text) { certificate, number in
            unsafe number == 0
                ? SSL_CTX_use_certificate(context, certificate) == 1
                : netproxy_SSL_CTX_add_to_chain(context, certificate) == 1
        }
        guard count != nil, count != 0 else {
            throw .system("the certificate that was given cannot be used: \(openSSLError())")
        }
    }

    /// Reads the certificate's key, which must not have a passphrase.
    ///
    /// OpenSSL would otherwise ask for it on the terminal, even during a reload.
    private func readKey(_ source: String) throws(IOError) {
        let isText = PEMText.isOne(source)
        var isEncrypted = false
        // SAFETY: OpenSSL uses the callback only during the call, and the flag outlives the call.
        let isUsed = unsafe withUnsafeMutablePointer(to: &isEncrypted) { flag in
            unsafe SSL_CTX_set_default_passwd_cb(context, passphraseWanted)
            unsafe SSL_CTX_set_default_passwd_cb_userdata(context, flag)
            defer { unsafe SSL_CTX_set_default_passwd_cb_userdata(context, nil) }
            guard isText else {
                return unsafe SSL_CTX_use_PrivateKey_file(context, source, SSL_FILETYPE_PEM) == 1
            }
            let key = unsafe PEMText.read(source) { bio in
                unsafe PEM_read_bio_PrivateKey(bio, nil, passphraseWanted, flag)
            }
            defer { unsafe EVP_PKEY_free(key) }
            return unsafe SSL_CTX_use_PrivateKey(context, key) == 1
        }
        guard !isUsed else { return }
        let words = openSSLError()
        // Never log the text, which is a secret.
        let file = isText ? "that was given" : source
        throw .system(
            isEncrypted
                ? "the key \(file) has a passphrase; write it without one (openssl pkey)"
                : "the key \(file) cannot be used: \(words)"
        )
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }

    /// The version of OpenSSL in use.
    package static var libraryVersion: String {
        unsafe OpenSSL_version(OPENSSL_VERSION).map { unsafe String(cString: $0) } ?? "unknown"
    }
}

/// Returns OpenSSL's reason for its last failure on this thread.
func openSSLError() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    // The highest of the 32 bits marks an error of the system, for which OpenSSL has no message.
    if code >> 31 & 1 == 1 { return describe(errno: Int32(code & 0x7FFF_FFFF)) }
    return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        ?? "error \(code)"
}
