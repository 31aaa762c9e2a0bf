import NetproxyBytes

/// Reads the requirements on TLS connections to the upstream.
struct TLSReader {
    let section: Section<TLSKey>

    func tls() -> UpstreamTLS {
        UpstreamTLS(
            authorities: section.file(.authorities, as: Mention.Resource.authorities),
            systemRoots: section.flag(.systemRoots, default: false) ? .trusted : .replaced,
            pins: section.list(
                .pins,
                of: "sha256/ and the base64 of 32 bytes",
                parse: CertificatePin.init(text:)
            ),
            pinMode: section.choice(.pinMode, default: .enforce),
            clientCertificate: section.clientCertificate(.clientCertificate, .clientKey),
            minimum: section.choice(.minimum, default: .v1_2),
            serverName: section.value(.serverName, expected: "a host name") {
                HostText.isName($0) ? $0.lowercased() : nil
            }
        )
    }
}

extension Section {
    /// Reads a certificate and its key, of which neither goes without the other.
    func clientCertificate(_ certificate: Key, _ key: Key) -> UpstreamTLS.ClientCertificate? {
        let chain = file(certificate, as: Mention.Resource.certificates)
        let secret = file(key, as: Mention.Resource.certificates)
        switch (self[certificate], self[key]) {
        case (.some, nil): require(key, "required with client_certificate")
        case (nil, .some): require(certificate, "required with client_key")
        default: break
        }
        guard let chain, let secret, let node = self[key] else { return nil }
        let both = UpstreamTLS.ClientCertificate(certificate: chain, key: secret)
        reading.mention(.clientCertificate(both), at: node)
        return both
    }

    /// Reads the absolute path of a file, which is checked as what it is for.
    func file(_ key: Key, as kind: (String) -> Mention.Resource) -> String? {
        guard let path = absolutePath(key) else { return nil }
        if let node = self[key] { reading.mention(kind(path), at: node) }
        return path
    }
}
