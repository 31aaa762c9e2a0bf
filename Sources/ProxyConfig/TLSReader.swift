/// Reads what a TLS connection to the upstream must satisfy.
struct TLSReader {
    let section: Section<TLSKey>

    func tls() -> UpstreamTLS {
        UpstreamTLS(
            authorities: authorities(),
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
        let certificate = certificates(.clientCertificate)
        let key = certificates(.clientKey)
        switch (section[.clientCertificate], section[.clientKey]) {
        case (.some, nil): section.require(.clientKey, "required with client_certificate")
        case (nil, .some): section.require(.clientCertificate, "required with client_key")
        default: break
        }
        guard let certificate, let key else { return nil }
        if let node = section[.clientKey] {
            section.reading.mention(.identity(certificate: certificate, key: key), at: node)
        }
        return UpstreamTLS.ClientCertificate(certificate: certificate, key: key)
    }

    private func authorities() -> String? {
        guard let path = section.absolutePath(.authorities) else { return nil }
        if let node = section[.authorities] {
            section.reading.mention(.authorities(path), at: node)
        }
        return path
    }

    private func certificates(_ key: TLSKey) -> String? {
        guard let path = section.absolutePath(key) else { return nil }
        if let node = section[key] { section.reading.mention(.certificates(path), at: node) }
        return path
    }
}
