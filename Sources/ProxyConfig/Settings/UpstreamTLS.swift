package import Bytes

/// What a TLS connection to an upstream must satisfy.
package struct UpstreamTLS: Sendable, Hashable {
    /// The absolute path of a PEM file with trusted roots, in place of the system's.
    package var authorities: String?
    package var pins: [CertificatePin]
    package var pinMode: PinMode
    package var clientCertificate: ClientCertificate?
    package var minimum: Version
    /// The name sent and verified, where it differs from the upstream's host.
    package var serverName: String?

    /// Whether a certificate that no pin names ends the connection or is only reported.
    package enum PinMode: String, Sendable, CaseIterable {
        case enforce
        case report
    }

    /// The oldest protocol version that is accepted.
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
