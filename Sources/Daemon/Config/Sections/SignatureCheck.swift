import NetproxyHTTPMessage

/// Checks that a channel allows signatures of requests, which cover what is sent: those of AWS name the host,
/// the region and the service.
struct SignatureCheck {
    private let channel: Section<ChannelKey>
    private let authentication: Section<AuthenticationKey>

    private var reading: Reading { channel.reading }

    init(_ channel: Section<ChannelKey>, _ authentication: Section<AuthenticationKey>) {
        (self.channel, self.authentication) = (channel, authentication)
    }

    /// Reports what stands in the way of the signatures of a channel, if it makes any.
    func check(_ configuration: ChannelConfiguration) {
        checkKeyedHashes(of: configuration)
        let signing = configuration.credentials.filter { $0.aws != nil }
        guard !signing.isEmpty else { return }
        if configuration.host == .app {
            reading.report(
                "auth.aws signs the Host that is sent, which cannot be the app's: use upstream or a name",
                at: channel.place(of: .host)
            )
        }
        if configuration.upstreams.count > 1 {
            reading.report(
                "a signature names the host, so a channel with auth.aws has one upstream",
                at: channel.place(of: .upstream)
            )
        } else if let upstream = configuration.upstreams.first {
            for credential in signing { checkScope(of: credential, at: upstream) }
        }
        if !configuration.retry.refusals.status.isEmpty, configuration.retry.refusals.body == nil {
            let retry = channel.section(.retry, RetryKey.self)
            reading.report(
                "with auth.aws, which knows the refusals of AWS, further ones need a body to be told by",
                at: retry.section(.unauthorized, UnauthorizedKey.self).place(of: .status)
            )
        }
    }

    private func checkKeyedHashes(of configuration: ChannelConfiguration) {
        let signed = configuration.credentials.compactMap { credential -> HMACSettings? in
            if case .hmac(let settings) = credential.authentication { settings } else { nil }
        }
        guard !signed.isEmpty else { return }
        if configuration.upstreams.count > 1 {
            reading.report(
                "a signature covers the path that is sent, so a channel with auth.hmac has one upstream",
                at: channel.place(of: .upstream)
            )
        }
        if configuration.host == .app, signed.contains(where: { $0.uses(.host) }) {
            reading.report(
                "auth.hmac signs the Host that is sent, which cannot be the app's: use upstream or a name",
                at: channel.place(of: .host)
            )
        }
    }

    private func checkScope(of credential: CredentialConfiguration, at upstream: UpstreamURL) {
        guard let settings = credential.aws else { return }
        let scope = settings.scope(for: upstream.origin)
        let host = upstream.origin.host
        let missing: [(AWSKey, String)] = [
            (.region, "the host \(host) names no region of AWS"),
            (.service, "the host \(host) names no service of AWS"),
        ].filter { ($0.0 == .region ? scope.region : scope.service) == nil }
        for (key, reason) in missing {
            guard let identity = credential.identity else {
                let aws = authentication.section(.aws, AWSKey.self)
                if aws.lacks(key) { aws.require(key, "required: \(reason)") }
                continue
            }
            reading.require(
                "identities.\(identity).aws.\(key.rawValue) is required: \(reason)",
                at: channel.place(of: .auth)
            )
        }
    }
}
