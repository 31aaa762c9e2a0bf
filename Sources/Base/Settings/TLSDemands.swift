package import NetproxyBytes

/// The demands on TLS connections to a server, and our own certificate.
package struct TLSDemands: Sendable, Hashable {
    /// A PEM file with the trusted roots, instead of the system's, or the PEM text itself.
    package var authorities: String?
    /// The role of the system's roots if there are `authorities`.
    package var systemRoots = SystemRoots.replaced
    /// The pinned keys, of which the chain must contain one; empty accepts any chain.
    package var pins: [CertificatePin] = []
    package var pinMode = PinMode.enforce
    package var clientCertificate: ClientCertificate?
    package var minimum = Version.v1_2
    /// The server name to send and verify, if it differs from the server's host.
    package var serverName: String?

    /// The treatment of a chain without a pinned key: end the connection, or only report it.
    package enum PinMode: String, Sendable, CaseIterable {
        case enforce
        case report
    }

    /// The role of the system's roots.
    package enum SystemRoots: Sendable {
        /// They are trusted in addition to `authorities`.
        case trusted
        /// Only `authorities` are trusted.
        case replaced
    }

    /// The lowest accepted protocol version.
    package enum Version: String, Sendable, CaseIterable {
        case v1_2 = "1.2"
        case v1_3 = "1.3"
    }

    /// The PEM files of a certificate chain and its key, or the PEM texts themselves.
    package struct ClientCertificate: Sendable, Hashable {
        package var certificate: String
        package var key: String

        package init(certificate: String, key: String) {
            (self.certificate, self.key) = (certificate, key)
        }

        package var files: [String] { [certificate, key] }
    }

    /// Trusts the system's roots and has no certificate.
    package init() {}

    /// The demands that trust the same servers, without our certificate.
    package var trust: TLSDemands {
        var trust = TLSDemands()
        (trust.authorities, trust.systemRoots) = (authorities, systemRoots)
        return trust
    }

    /// The files that the demands name.
    package var files: [String] {
        (authorities.map { [$0] } ?? []) + (clientCertificate?.files ?? [])
    }
}
