import NetproxyBytes
import NetproxySettings

/// The requirements on TLS connections to a server.
struct TLSKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ ca: /path }"

    let pins = Key(
        "pins",
        .list(.scalar("sha256/ and the base64 of 32 bytes") { CertificatePin(text: $0) }),
        default: []
    )
    let minimum = Key("minimum", .choice(TLSDemands.Version.self), default: "1.2")
    let authorities = Key("ca", .file { .authorities($0) })
    let systemRoots = Key("system_roots", .flag, default: false)
    let pinMode = Key("pin_mode", .choice(TLSDemands.PinMode.self), default: "enforce")
    let clientCertificate = Key("client_certificate", .file { .certificates($0) })
    let clientKey = Key("client_key", .file { .certificates($0) })
    let serverName = Key(
        "server_name",
        .scalar("a host name") { HostText.isName($0) ? $0.lowercased() : nil }
    )
}

extension TLSDemands {
    init(_ section: Section<TLSKeys>) {
        self.init()
        authorities = section[\.authorities]
        systemRoots = section[\.systemRoots] ? .trusted : .replaced
        pins = section[\.pins]
        pinMode = section[\.pinMode]
        clientCertificate = section.certificate(\.clientCertificate, with: \.clientKey)
        minimum = section[\.minimum]
        serverName = section[\.serverName]
    }
}

extension Section {
    /// Reads a certificate and its key; neither is allowed without the other.
    func certificate(
        _ certificate: KeyPath<Keys, Key<String?>>,
        with key: KeyPath<Keys, Key<String?>>
    ) -> TLSDemands.ClientCertificate? {
        let (chain, secret) = (self[certificate], self[key])
        let (certificate, key) = (self[dynamicMember: certificate], self[dynamicMember: key])
        if certificate.isWritten { key.requireWritten("required with client_certificate") }
        if key.isWritten { certificate.requireWritten("required with client_key") }
        guard let chain, let secret else { return nil }
        let both = TLSDemands.ClientCertificate(certificate: chain, key: secret)
        key.mention(.clientCertificate(both))
        return both
    }
}
