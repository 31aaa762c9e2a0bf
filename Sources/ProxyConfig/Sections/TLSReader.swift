import Bytes

/// Reads the requirements on TLS connections to the upstream.
struct TLSReader {
    let section: Section<TLSKey>

    func tls() -> UpstreamTLS {
        UpstreamTLS(
            authorities: file(.authorities, as: Mention.Resource.authorities),
            systemRoots: section.flag(.systemRoots, default: false) ? .trusted : .replaced,
            pins: section.list(
                .pins,
                of: "sha256/ and the base64 of 32 bytes",
                parse: CertificatePin.init(text:)
            ),
            pinMode: section.choice(.pinMode, default: .enforce),
            clientCertificate: clientCertificate(),
            minimum: section.choice(.minimum, default: .v1_2),
            serverName: section.value(.serverName, expected: "a host name") {
                HostText.isName($0) ? $0.lowercased() : nil
            }
        )
    }

    private func clientCertificate() -> UpstreamTLS.ClientCertificate? {
        let certificate = file(.clientCertificate, as: Mention.Resource.certificates)
        let key = file(.clientKey, as: Mention.Resource.certificates)
        switch (section[.clientCertificate], section[.clientKey]) {
        case (.some, nil): section.require(.clientKey, "required with client_certificate")
        case (nil, .some): section.require(.clientCertificate, "required with client_key")
        default: break
        }
        guard let certificate, let key, let node = section[.clientKey] else { return nil }
        let both = UpstreamTLS.ClientCertificate(certificate: certificate, key: key)
        section.reading.mention(.clientCertificate(both), at: node)
        return both
    }

    private func file(_ key: TLSKey, as kind: (String) -> Mention.Resource) -> String? {
        guard let path = section.absolutePath(key) else { return nil }
        if let node = section[key] { section.reading.mention(kind(path), at: node) }
        return path
    }
}
