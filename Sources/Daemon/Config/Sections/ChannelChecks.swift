import NetproxyHTTPMessage
import NetproxySettings

/// The checks that concern several keys of one channel.
struct ChannelChecks {
    let channel: Section<ChannelKeys>
    let auth: Section<AuthenticationKeys>
    let configuration: ChannelConfiguration

    private var reading: Reading { channel.reading }

    func run() {
        checkCredentialsStayPrivate()
        checkPlace()
        checkRules()
        checkPins()
        checkVersions()
        for credential in configuration.credentials { check(credential) }
    }

    private func check(_ credential: CredentialConfiguration) {
        guard let kind = CredentialKinds.kind(of: credential.authentication) else { return }
        if credential.identity == nil {
            kind.check(credential.authentication, with: configuration.tls, at: channel.tls)
        }
        let refusals = configuration.retry.refusals
        let retry = channel[\.retry]
        var status = retry.unauthorized
        if case .map(let section) = retry[\.unauthorized] { status = section.status }
        kind.check(
            CredentialUse(
                credential: credential,
                section: auth.group(\.credential),
                placement: configuration.placement,
                upstreams: configuration.upstreams,
                host: configuration.host,
                refusals: refusals.status.isEmpty
                    ? .none : refusals.body == nil ? .byStatus : .byContent,
                upstream: channel.upstream,
                hostSlot: channel.host,
                auth: channel.auth,
                stub: channel.stub,
                refusalStatus: status
            )
        )
    }

    /// Checks that every upstream's URL has a place for a credential in the path, and for no other
    /// credential.
    private func checkPlace() {
        let items = channel.upstream.items
        guard items.count == configuration.upstreams.count else { return }
        for (item, upstream) in zip(items, configuration.upstreams) {
            switch (configuration.placement, upstream.hasCredentialPlace) {
            case (.path, false):
                reading.require(
                    "auth.in: path needs the place of the credential in the URL's path, such as "
                        + "https://api.example.com/bot\(CredentialPlacement.marker)",
                    at: item.place
                )
            case (.path, true), (_, false): break
            case (_, true):
                reading.require(
                    "\(CredentialPlacement.marker) needs a credential with auth.in: path",
                    at: item.place
                )
            }
        }
    }

    /// Checks that pins apply to TLS; on a connection without TLS they would only look like protection.
    private func checkPins() {
        guard !configuration.tls.pins.isEmpty, !configuration.upstreams.isEmpty,
            configuration.upstreams.allSatisfy({ $0.origin.scheme == .http })
        else { return }
        reading.require(
            "an http:// upstream has no certificate to pin",
            at: channel[\.tls].pins.place
        )
    }

    /// Checks that HTTP/2 is not required through a proxy for an http:// upstream: the proxy reads a plain
    /// request and forwards it in HTTP/1.1.
    private func checkVersions() {
        guard [.http2, .http2PriorKnowledge].contains(configuration.versions),
            configuration.proxy != nil,
            configuration.upstreams.contains(where: { $0.origin.scheme == .http })
        else { return }
        channel.http.report(
            "http2 cannot go to an http:// upstream through a proxy, which forwards HTTP/1.1"
        )
    }

    /// Checks that no rule names the credential's field: it would replace the credential, or be mistaken for
    /// the client's.
    private func checkRules() {
        let own = configuration.placement?.fieldName.map { CompanionField(name: $0, key: "auth") }
        let fields = [own].compactMap { $0 } + configuration.credentials.flatMap(\.companionFields)
        let rules = channel[\.headers]
        for entry in [rules.default, rules.set, rules.secret].flatMap({ $0.node?.entries ?? [] })
        where !entry.value.isNull {
            let likeness = HTTPFieldName.likeness(of: entry.key)
            let match = fields.first { likeness == HTTPFieldName.likeness(of: $0.name) }
            guard let field = match else { continue }
            let key = field.key.split(separator: ".").last ?? ""
            reading.report(
                "\(field.key) sets \(field.name); remove this rule, or \(key)",
                at: entry.place
            )
        }
    }

    private func checkCredentialsStayPrivate() {
        let exposures = configuration.upstreams.compactMap {
            $0.origin.exposure(over: configuration.proxy)
        }
        let hasSecrets =
            !configuration.credentials.isEmpty || !configuration.headers.secrets.isEmpty
        guard !configuration.allowInsecure, hasSecrets, let exposure = exposures.first
        else { return }
        channel.upstream.report(exposure)
    }
}
