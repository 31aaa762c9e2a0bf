import NetproxyHTTPMessage

/// Reads a channel, with the defaults already merged in.
struct ChannelReader {
    let name: String
    let channel: Section<ChannelKey>
    let identities: IdentityDirectory

    private var reading: Reading { channel.reading }

    func configuration() -> ChannelConfiguration {
        let reader = CredentialReader(channel, name: name, identities: identities)
        let authentication = reader.authentication
        let tls = TLSReader(section: channel.section(.tls, TLSKey.self)).tls()
        let (credentials, placement) = reader.credentials(tls)
        let configuration = ChannelConfiguration(
            name: name,
            upstreams: upstreams(),
            versions: channel.choice(.http, default: .auto),
            host: channel.value(
                .host,
                expected: "upstream, app or a host name with or without a port",
                parse: SentHost.init(text:)
            ) ?? .upstream,
            match: match(),
            log: log(),
            headers: HeaderRulesReader(section: channel.section(.headers, HeadersKey.self)).rules(),
            trace: channel.choice(.trace, default: .pass),
            credentials: credentials,
            placement: placement,
            onClientCredential: authentication.section.choice(
                .onClientCredential,
                default: .replace
            ),
            allowInsecure: authentication.section.flag(.allowInsecure, default: false),
            retry: retry(),
            timeouts: timeouts(),
            pool: pool(),
            tls: tls,
            access: access(),
            rewrite: rewrite(),
            rate: channel[.rate] == nil || channel.isOff(.rate)
                ? nil : RateReader(section: channel.section(.rate, RateKey.self)).settings(),
            proxy: channel.proxy(.proxy),
            stub: stub(),
            exec: exec()
        )
        checkCredentialsStayPrivate(in: configuration)
        checkPlace(of: configuration)
        checkRules(of: configuration)
        checkClientCertificate(of: configuration)
        checkPins(of: configuration)
        checkVersions(of: configuration)
        checkProofKey(of: configuration, in: authentication.section)
        SignatureCheck(channel, authentication.section).check(configuration)
        checkDiscovery(of: configuration, in: authentication.section)
        return configuration
    }

    /// A DPoP proof contains the URL of the request, which failover would change.
    private func checkProofKey(
        of configuration: ChannelConfiguration,
        in section: Section<AuthenticationKey>
    ) {
        guard configuration.upstreams.count > 1,
            let bound = configuration.credentials.first(where: { $0.oauth?.proofKey != nil })
        else { return }
        reading.report(
            "tokens cannot be bound to a key where the channel has more than one upstream",
            at: bound.identity == nil
                ? section.section(.oauth, OAuthKey.self).place(of: .proofKey)
                : channel.place(of: .auth)
        )
    }

    /// The upstream's URL says what the server is: there must be one, and no more than that.
    private func checkDiscovery(
        of configuration: ChannelConfiguration,
        in section: Section<AuthenticationKey>
    ) {
        guard configuration.discovery != nil else { return }
        let place = section.section(.oauth, OAuthKey.self).place(of: .discover)
        if configuration.upstreams.count > 1 {
            reading.report("the server cannot be found by more than one upstream", at: place)
        } else if configuration.upstreams.isEmpty, channel[.stub] != nil {
            reading.require("the server cannot be found without an upstream", at: place)
        }
        if case .path = configuration.placement {
            reading.report("the server cannot be found by a URL that holds a credential", at: place)
        }
    }

    /// A credential in the path has its place in every upstream's URL, and no other credential has.
    private func checkPlace(of configuration: ChannelConfiguration) {
        let items = channel[.upstream].map { $0.items ?? [$0] } ?? []
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

    /// Pins for a connection without TLS would only look like protection.
    private func checkPins(of configuration: ChannelConfiguration) {
        guard !configuration.tls.pins.isEmpty, !configuration.upstreams.isEmpty,
            configuration.upstreams.allSatisfy({ $0.origin.scheme == .http })
        else { return }
        reading.require(
            "an http:// upstream has no certificate to pin",
            at: channel.section(.tls, TLSKey.self).place(of: .pins)
        )
    }

    /// A proxy reads a plain request, which it forwards in HTTP/1.1.
    private func checkVersions(of configuration: ChannelConfiguration) {
        guard configuration.versions == .http2, configuration.proxy != nil,
            configuration.upstreams.contains(where: { $0.origin.scheme == .http })
        else { return }
        reading.report(
            "http2 cannot go to an http:// upstream through a proxy, which forwards HTTP/1.1",
            at: channel.place(of: .http)
        )
    }

    private func upstreams() -> [UpstreamURL] {
        guard let node = channel[.upstream] else {
            if channel[.stub] == nil || channel.isOff(.stub) { channel.require(.upstream) }
            return []
        }
        let items = node.items ?? [node]
        if items.isEmpty { reading.report("expected at least one URL", at: node) }
        return items.compactMap { reading.url($0, UpstreamURL.init(text:)) }
    }

    private func stub() -> [SampleAnswer]? {
        guard !channel.isOff(.stub), let node = channel[.stub] else { return nil }
        return StubReader(reading: reading).answers(node)
    }

    private func exec() -> [ChannelConfiguration.ExecVariable] {
        guard let node = channel[.exec] else { return [] }
        guard let entries = node.entries else {
            reading.report("expected a map of variables, found \(node.kind)", at: node)
            return []
        }
        let words = ChannelConfiguration.ExecVariable.Value.allCases.map(\.rawValue)
        return entries.filter { !$0.value.isNull }.compactMap { entry in
            guard TextRules.isVariableName(entry.key) else {
                reading.report(
                    "the name of a variable has letters, digits and '_', and begins with no digit",
                    at: Place(position: entry.keyPosition, key: entry.value.path)
                )
                return nil
            }
            return reading.value(
                entry.value,
                expected: words.alternatives
            ) { text in
                ChannelConfiguration.ExecVariable.Value(rawValue: text).map {
                    ChannelConfiguration.ExecVariable(name: entry.key, value: $0)
                }
            }
        }
    }

    private func match() -> ChannelConfiguration.Match {
        let match = channel.section(.match, MatchKey.self)
        let listen = match.value(
            .listen,
            expected: RootReader.listenForm,
            bound: ListenAddress.bound(of:),
            parse: ListenAddress.init(text:)
        )
        return ChannelConfiguration.Match(
            path: match.value(.path, expected: "a path such as /\(name)", parse: Self.prefix)
                ?? "/\(name)",
            hosts: match.list(
                .hosts,
                of: "a host name, or *.suffix for the names below it",
                default: ["\(name).localhost"]
            ) { text in
                text != "*" && HostText.isPattern(text) ? text.lowercased() : nil
            },
            listen: listen,
            strip: match.flag(.strip, default: true) ? .remove : .keep
        )
    }

    private func log() -> ChannelConfiguration.LogOptions {
        let log = channel.section(.log, ChannelLogKey.self)
        return ChannelConfiguration.LogOptions(
            subsystem: log.text(.subsystem) ?? "netproxy.\(name)",
            category: log.text(.category) ?? "network",
            query: log.choice(.query, default: .keys),
            headers: log.list(.headers, of: "a header name") { Grammar.isToken($0) ? $0 : nil }
        )
    }

    private func retry() -> ChannelConfiguration.Retry {
        let retry = channel.section(.retry, RetryKey.self)
        let backoff = retry.section(.backoff, BackoffKey.self)
        let base = backoff.duration(.base, default: .milliseconds(100))
        let longest = backoff.duration(.max, default: max(base, .seconds(2)))
        if longest < base {
            reading.report("must not be shorter than base", at: backoff.place(of: .max))
        }
        let bodies = ByteCount(0)...ByteCount.mebibytes(64)
        let spills = ByteCount(1)...ByteCount.mebibytes(16 << 10)
        let kept =
            retry.isOff(.replayBody)
            ? ByteCount(0) : retry.size(.replayBody, in: bodies, default: .kibibytes(64))
        let spill =
            retry[.spill] == nil || retry.isOff(.spill)
            ? nil : retry.size(.spill, in: spills, default: .mebibytes(1))
        if let spill, spill.bytes <= kept.bytes {
            reading.require("must be more than replay_body", at: retry.place(of: .spill))
        }
        return ChannelConfiguration.Retry(
            unauthorized: retry[.unauthorized]?.entries != nil
                || retry.flag(.unauthorized, default: true),
            refusals: refusals(retry),
            replayBody: kept,
            spill: spill,
            attempts: retry.integer(.attempts, in: 0...10, default: 2),
            status: retry.list(
                .status,
                of: "a status from 400 to 599",
                default: [502, 503, 504]
            ) { text in WholeNumber.parse(text).flatMap { (400...599).contains($0) ? $0 : nil } },
            backoff: .init(base: base, max: longest),
            budget: retry.value(
                .budget,
                expected: "a share such as 20%",
                parse: Percentage.init(text:)
            )
                ?? Percentage(20)
        )
    }

    /// The answers besides a 401 that mean that the token was refused: a map in place of the flag.
    private func refusals(_ retry: Section<RetryKey>) -> ChannelConfiguration.Retry.Refusals {
        guard retry[.unauthorized]?.entries != nil else { return .init() }
        let refusals = retry.section(.unauthorized, UnauthorizedKey.self)
        let statuses = refusals.list(
            .status,
            of: "203 or a status from 300 to 599"
        ) { text in
            WholeNumber.parse(text).flatMap { (300...599).contains($0) || $0 == 203 ? $0 : nil }
        }
        let further = statuses.filter { $0 != 401 }
        let body = refusals.text(.body)
        if body != nil, further.isEmpty {
            refusals.require(.status, "required with body, which never limits a 401")
        }
        return .init(status: further, body: body)
    }

    private func timeouts() -> ChannelConfiguration.Timeouts {
        let timeouts = channel.section(.timeouts, TimeoutsKey.self)
        return ChannelConfiguration.Timeouts(
            connect: timeouts.durationOrOff(.connect, default: .seconds(10)),
            response: timeouts.durationOrOff(.response, default: .seconds(600)),
            idle: timeouts.durationOrOff(.idle, default: .seconds(600)),
            total: timeouts.durationOrOff(.total, default: nil)
        )
    }

    private func pool() -> ChannelConfiguration.Pool {
        let pool = channel.section(.pool, PoolKey.self)
        return ChannelConfiguration.Pool(
            connections: pool.integer(.connections, in: 1...100_000, default: 128),
            idle: pool.duration(.idle, default: .seconds(90)),
            queue: pool.integer(.queue, in: 0...1_000_000, default: 1024),
            wait: pool.duration(.wait, default: .seconds(5))
        )
    }

    private func rewrite() -> Set<RewrittenPart> {
        guard let node = channel[.rewrite] else { return [] }
        guard node.entries != nil else {
            return channel.flag(.rewrite, default: false) ? Set(RewrittenPart.allCases) : []
        }
        let parts = channel.section(.rewrite, RewriteKey.self)
        var rewritten: Set<RewrittenPart> = []
        if parts.flag(.links, default: false) { rewritten.insert(.links) }
        if parts.flag(.cookies, default: false) { rewritten.insert(.cookies) }
        return rewritten
    }

    private func access() -> ChannelConfiguration.Access {
        let access = channel.section(.access, ChannelAccessKey.self)
        return ChannelConfiguration.Access(
            hosts: access.list(.hosts, of: "a host name, *.suffix or *") { text in
                HostText.isPattern(text) ? text.lowercased() : nil
            },
            origins: access.list(
                .origins,
                of: "an origin such as https://app.example.com, or none",
                parse: Self.origin
            ),
            users: access.list(.users, of: "a numeric user id") { text in
                WholeNumber.parse(text).flatMap(UInt32.init(exactly:))
            },
            key: access.secret(.key),
            methods: access.list(.methods, of: "a method such as GET", parse: TextRules.method),
            paths: access.list(
                .paths,
                of: "a path such as /orders/*, without query",
                parse: TextRules.pathPattern
            )
        )
    }

    /// A token bound to a certificate is valid only with that certificate (RFC 8705 §3), so the token
    /// endpoint gets the same one as the API.
    private func checkClientCertificate(of configuration: ChannelConfiguration) {
        guard let credential = configuration.credentials.first, credential.identity == nil,
            credential.oauth?.clientAuthentication == .tls,
            configuration.tls.clientCertificate == nil
        else { return }
        reading.require(
            "required for client_auth tls",
            at: Place(
                position: channel.position,
                key: "\(channel.path(of: .tls)).client_certificate"
            )
        )
    }

    /// A rule for the credential's field would replace the credential, or be mistaken for the app's.
    private func checkRules(of configuration: ChannelConfiguration) {
        var fields = configuration.placement?.fieldName.map { [$0] } ?? []
        for case .hmac(let settings) in configuration.credentials.map(\.authentication) {
            fields += settings.fields.map(\.name)
        }
        var proof: String?
        if configuration.credentials.contains(where: { $0.oauth?.proofKey != nil }) {
            proof = "DPoP"
        }
        let rules = channel.section(.headers, HeadersKey.self)
        for entry in [rules[.default], rules[.set], rules[.secret]].flatMap({ $0?.entries ?? [] })
        where !entry.value.isNull {
            let likeness = HTTPFieldName.likeness(of: entry.key)
            if let field = fields.first(where: { likeness == HTTPFieldName.likeness(of: $0) }) {
                reading.report("auth sets \(field); remove this rule, or auth", at: entry.place)
            } else if let proof, likeness == HTTPFieldName.likeness(of: proof) {
                reading.report(
                    "auth.oauth.dpop_key sets \(proof); remove this rule, or dpop_key",
                    at: entry.place
                )
            }
        }
    }

    private func checkCredentialsStayPrivate(in configuration: ChannelConfiguration) {
        let exposures = configuration.upstreams.compactMap {
            $0.origin.exposure(over: configuration.proxy)
        }
        let hasSecrets =
            !configuration.credentials.isEmpty || !configuration.headers.secrets.isEmpty
        guard !configuration.allowInsecure, hasSecrets, let exposure = exposures.first
        else { return }
        reading.report(exposure, at: channel.place(of: .upstream))
    }

    /// The path prefix without a trailing slash; nil unless it is an absolute path without a query.
    private static func prefix(_ text: String) -> String? {
        guard text.hasPrefix("/"), !text.contains("//"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.contains(where: { $0 == "?" || $0 == "#" }),
            !text.split(separator: "/").contains(where: URLText.isDotSegment)
        else { return nil }
        return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// A serialized origin (RFC 6454 §6.2) in lower case and without a default port, as browsers send it.
    ///
    /// Browser extensions have other schemes than http and https.
    private static func origin(_ text: String) -> String? {
        // For requests that no page sends: what a user opens in a browser.
        if text == "none" { return text }
        guard let separator = text.firstRange(of: "://"), separator.lowerBound > text.startIndex,
            text[..<separator.lowerBound].allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "-") }),
            let authority = HostText.authority(text[separator.upperBound...])
        else { return nil }
        let scheme = text[..<separator.lowerBound].lowercased()
        let isOwnPort =
            authority.port == Origin.Scheme(rawValue: scheme)?.defaultPort
        return isOwnPort
            ? "\(scheme)://\(Authority.bracketed(authority.host))" : "\(scheme)://\(authority)"
    }
}
