package import NetproxyBytes

/// The requirements on TLS connections to an upstream.
package struct UpstreamTLS: Sendable, Hashable {
    /// The absolute path of a PEM file with trusted roots, instead of the system's.
    package var authorities: String?
    /// The role of the system's roots if there are `authorities`.
    package var systemRoots: SystemRoots
    package var pins: [CertificatePin]
    package var pinMode: PinMode
    package var clientCertificate: ClientCertificate?
    package var minimum: Version
    /// The server name to send and verify, if it differs from the upstream's host.
    package var serverName: String?

    /// The treatment of a certificate that matches no pin: end the connection, or only report it.
    package enum PinMode: String, Sendable, CaseIterable {
        case enforce
        case report
    }

    /// The role of the system's roots.
    package enum SystemRoots: Sendable {
        /// They are trusted in addition to those of the file.
        case trusted
        /// Only the roots of the file are trusted.
        case replaced
    }

    /// The lowest accepted protocol version.
    package enum Version: String, Sendable, CaseIterable {
        case v1_2 = "1.2"
        case v1_3 = "1.3"
    }

    /// The absolute paths of a certificate chain and its key, both PEM.
    package struct ClientCertificate: Sendable, Hashable {
        package var certificate: String
        package var key: String
    }
}
