import CNetproxyOpenSSL
import Foundation
import Glibc
package import NetproxyEventIO
import NetproxySystem

/// A self-signed certificate with its key, which a server presents and a client trusts.
///
/// Created with OpenSSL when needed, so that nothing in the repository expires.
// SAFETY: created in `init`, freed in `deinit`, and not modified in between.
@safe package final class SelfSignedCertificate: @unchecked Sendable {
    fileprivate let certificate: OpaquePointer
    fileprivate let key: OpaquePointer
    /// A PEM file with the certificate, for `TLSDemands.authorities`, and its key.
    ///
    /// The file is removed with the object.
    package let file: String

    /// Creates a certificate that is valid for an hour.
    ///
    /// - Parameters:
    ///   - commonName: the CN of its subject.
    ///   - names: its subjectAltName, spelled as in openssl.cnf: `DNS:localhost,IP:127.0.0.1`; `nil` for
    ///     none.
    /// - Throws: an error if OpenSSL refuses.
    package init(commonName: String = "test", names: String?) throws {
        guard let key = unsafe SelfSignedCertificate.newKey(), let certificate = unsafe X509_new()
        else { throw OpenSSLFailure() }
        unsafe (self.key, self.certificate) = unsafe (key, certificate)
        file = FileManager.default.temporaryDirectory.path + "/certificate-\(UUID().uuidString).pem"
        unsafe X509_set_version(certificate, 2)
        unsafe ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
        unsafe X509_gmtime_adj(X509_getm_notBefore(certificate), -60)
        unsafe X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
        let subject = unsafe X509_get_subject_name(certificate)
        unsafe X509_NAME_add_entry_by_txt(subject, "CN", 0x1000, commonName, -1, -1, 0)
        unsafe X509_set_issuer_name(certificate, subject)
        unsafe X509_set_pubkey(certificate, key)
        if let names {
            guard let names = unsafe X509V3_EXT_conf_nid(nil, nil, NID_subject_alt_name, names)
            else { throw OpenSSLFailure() }
            defer { unsafe X509_EXTENSION_free(names) }
            unsafe X509_add_ext(certificate, names, -1)
        }
        // Ed25519 needs no digest.
        guard unsafe X509_sign(certificate, key, nil) > 0,
            let output = unsafe BIO_new_file(file, "w")
        else { throw OpenSSLFailure() }
        defer { unsafe BIO_free(output) }
        guard unsafe PEM_write_bio_X509(output, certificate) == 1,
            unsafe PEM_write_bio_PrivateKey(output, key, nil, nil, 0, nil, nil) == 1
        else { throw OpenSSLFailure() }
    }

    deinit {
        unsafe X509_free(certificate)
        unsafe EVP_PKEY_free(key)
        unsafe unlink(file)
    }

    private static func newKey() -> OpaquePointer? {
        let context = unsafe EVP_PKEY_CTX_new_id(NID_ED25519, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        unsafe EVP_PKEY_keygen_init(context)
        unsafe EVP_PKEY_keygen(context, &key)
        return unsafe key
    }
}

private struct OpenSSLFailure: Error {}

/// A TLS server on its own port of 127.0.0.1 that returns the received content.
///
/// It serves one connection at a time, on its own thread, and stops when it is released.
package final class TLSServer: Sendable {
    /// The address on which it listens.
    package let address: SocketAddress
    /// The number of received content bytes.
    package let received = Counter()
    private let descriptor: Int32

    /// Starts a server that presents a certificate.
    package init(_ certificate: SelfSignedCertificate) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the address lives during the calls, and has the passed size.
        let code = unsafe withUnsafeMutablePointer(to: &place) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                unsafe bind(descriptor, place, size) | listen(descriptor, 16)
                    | getsockname(descriptor, place, &size)
            }
        }
        guard code == 0,
            let address = SocketAddress(ip: "127.0.0.1", port: UInt16(bigEndian: place.sin_port)),
            let context = unsafe SSL_CTX_new(TLS_server_method()),
            unsafe SSL_CTX_use_certificate(context, certificate.certificate) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, certificate.key) == 1
        else { throw OpenSSLFailure() }
        self.descriptor = descriptor
        self.address = address
        let connections = unsafe TLSConnections(context, received, descriptor)
        guard startThread(named: "tls-server", { connections.serve() }) == 0 else {
            throw OpenSSLFailure()
        }
    }

    deinit {
        // The thread closes the descriptor.
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

/// The state of a server's thread.
// SAFETY: only that thread uses it.
@safe private final class TLSConnections: @unchecked Sendable {
    private let context: OpaquePointer
    private let received: Counter
    private let descriptor: Int32

    init(_ context: OpaquePointer, _ received: Counter, _ descriptor: Int32) {
        unsafe self.context = unsafe context
        self.received = received
        self.descriptor = descriptor
    }

    deinit {
        unsafe SSL_CTX_free(context)
        close(descriptor)
    }

    func serve() {
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            defer { close(connection) }
            var patience = timeval(tv_sec: 30, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            unsafe setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
            guard let ssl = unsafe SSL_new(context) else { return }
            defer { unsafe SSL_free(ssl) }
            unsafe SSL_set_fd(ssl, connection)
            guard unsafe SSL_accept(ssl) == 1 else { continue }
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe SSL_read(ssl, &bytes, Int32(bytes.count))
                guard count > 0 else { break }
                received.add(Int(count))
                guard unsafe SSL_write(ssl, bytes, count) == count else { break }
            }
        }
    }
}
