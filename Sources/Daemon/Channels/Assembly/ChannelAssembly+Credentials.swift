import NetproxyAWSSigning
import NetproxyBytes
import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog
import NetworkCore
import OAuth
import OriginTransport

extension ChannelAssembly {
    /// Returns the accounts of a channel, and reuses accounts from `known` with the same settings and inputs.
    ///
    /// A channel with several credentials gets a `MissingCredential` for each unusable one.
    ///
    /// - Throws: an error that names the credential and the key if a secret cannot be read or is not valid in
    ///   a header field, unless the channel has another credential.
    func accounts(
        of channel: ChannelConfiguration,
        _ inputs: ChannelInputs,
        among known: inout [ChannelAccount],
        log: ChannelLog
    ) async throws -> [ChannelAccount] {
        var accounts: [ChannelAccount] = []
        for credential in channel.credentials {
            let part = inputs.part(of: credential)
            // A signature also depends on the channel; only its key could be shared.
            let tokenRegion = credential.aws?.tokenRegion(for: channel.upstreams.first?.origin)
            if !credential.signsRequests,
                let shared = known.first(where: {
                    $0.identity != nil && $0.credential == credential && $0.inputs == part
                        && $0.tokenRegion == tokenRegion && $0.missing == nil
                })
            {
                accounts.append(shared.signing(for: channel))
                continue
            }
            do {
                guard credential.isRead(in: inputs) else {
                    throw IOError.system("\(credential.owner): its secrets cannot be read")
                }
                let log = credential.identity == nil ? log : ownLog
                guard let authorizer = try await authorizer(credential, part, of: channel, log)
                else { continue }
                let account = ChannelAccount(
                    credential: credential,
                    inputs: part,
                    authorizer: authorizer,
                    tokenRegion: tokenRegion
                )
                known.append(account)
                accounts.append(account)
            } catch  where channel.credentials.count > 1 {
                accounts.append(ChannelAccount(credential, part, missing: error))
            }
        }
        let missing = accounts.compactMap(\.missing)
        if !missing.isEmpty, missing.count == accounts.count {
            throw IOError.system(missing.joined(separator: "; "))
        }
        return accounts
    }

    /// Returns the authorizer for a credential; `nil` if the channel has none.
    private func authorizer(
        _ credential: CredentialConfiguration,
        _ inputs: ChannelInputs,
        of channel: ChannelConfiguration,
        _ log: ChannelLog
    ) async throws -> (any Authorizing)? {
        switch credential.authentication {
        case .none: return nil
        case .exec(let command):
            return HelperAuthorizer(
                HelperTokens(
                    for: credential.owner,
                    command: command,
                    environment: environment,
                    report: report
                ),
                onEvent: events(of: credential.owner, log)
            )
        case .oauth(let settings):
            return try await oauth(settings, of: credential, at: inputs.pinned, log: log)
        case .aws(let settings):
            return try await aws(settings, of: credential, for: channel, log: log)
        case .hmac(let settings):
            let place = channel.credentialPlace ?? .header(.authorization)
            let rules = RequestSignature.Rules(settings, place, channel)
            return try await fixed("hmac", settings.key, of: credential) {
                key throws(NetworkError) in
                let signature = try RequestSignature(rules, key: key)
                return StaticAuthorizer(signing: signature, named: place.fieldName, key: key)
            }
        case .jwt(let settings):
            let tokens = try await SignedTokens(settings, of: credential, secrets, report)
            return HelperAuthorizer(
                tokens,
                kind: "jwt",
                serverClock: tokens.serverClock,
                onEvent: events(of: credential.owner, log)
            )
        case .bearer(let reference):
            return try await fixed("bearer", reference, of: credential) {
                token throws(NetworkError) in
                try StaticAuthorizer.bearer(token)
            }
        case .basic(let username, let reference):
            return try await fixed("basic", reference, of: credential) {
                password throws(NetworkError) in
                try StaticAuthorizer.basic(username: username, password: password)
            }
        case .header(let name, let reference):
            guard let field = HTTPFieldName(name) else {
                throw IOError.system(
                    "\(credential.owner): \(credential.owner.key("header.name")) is not a valid field "
                        + "name"
                )
            }
            return try await fixed("header", reference, of: credential) {
                value throws(NetworkError) in
                try StaticAuthorizer.header(field, value)
            }
        }
    }

    /// Returns an authorizer for a fixed credential.
    ///
    /// The secret is read again after a 401 if it can change while the daemon runs.
    private func fixed(
        _ key: String,
        _ reference: SecretReference,
        of credential: CredentialConfiguration,
        _ make: @escaping @Sendable (Secret) throws(NetworkError) -> StaticAuthorizer
    ) async throws -> any Authorizing {
        let place = "\(credential.owner): \(credential.owner.key(key))"
        let secret = try await secrets.secret(reference)
        let first: StaticAuthorizer
        do throws(NetworkError) {
            first = try make(secret)
        } catch {
            throw IOError.system("\(place): \(error.detail)")
        }
        return rotating(first, from: [reference], at: place) { [resolver = secrets.resolver] in
            let bytes = try await resolver.resolve(reference)
            return try make(Secret(String(decoding: bytes, as: UTF8.self)))
        }
    }

    /// Returns an authorizer for a fixed credential that consists of several secrets.
    ///
    /// The secrets are read again after a rejection if one can change while the daemon runs.
    private func rotating(
        _ first: StaticAuthorizer,
        from references: [SecretReference],
        at place: String,
        read: @escaping @Sendable () async throws -> StaticAuthorizer
    ) -> any Authorizing {
        let sources = references.filter { $0.isFile || $0.isProgram }
        guard !sources.isEmpty else { return first }
        let names = sources.map(\.description).joined(separator: ", ")
        let copied = sources.first { if case .credential = $0 { true } else { false } }
        let (report, seldom) = (report, RateLimitedReport(report))
        return RotatingAuthorizer(
            first,
            effort: sources.contains(where: \.isProgram) ? .program : .file,
            read: read,
            onChange: {
                report("\(place): the API rejected it; using the new value from \(names)")
            },
            onNoChange: {
                guard let copied else { return }
                // systemd copies credentials when it starts the service; a reload does not.
                seldom(
                    "\(place): the API rejected it, and \(copied) is unchanged: after changing its "
                        + "source (LoadCredential=), restart the service"
                )
            },
            onFault: { error in
                let words = (error as? NetworkError)?.detail ?? "\(error)"
                seldom("\(place): the API rejected it, and there is no new value: \(words)")
            }
        )
    }

    private func oauth(
        _ settings: OAuthSettings,
        of credential: CredentialConfiguration,
        at pinned: PinnedServer?,
        log: ChannelLog
    ) async throws -> OAuthManager {
        let client: OAuthClient
        do {
            client = try await oauthClients.client(settings, of: credential, at: pinned)
        } catch let error as IOError {
            throw IOError.system("\(credential.owner): \(error)")
        }
        return OAuthManager(
            service: client.service,
            tokenStore: client.store,
            configuration: client.configuration,
            onEvent: events(of: credential.owner, log)
        )
    }

    private func aws(
        _ settings: AWSSettings,
        of credential: CredentialConfiguration,
        for channel: ChannelConfiguration,
        log: ChannelLog
    ) async throws -> AWSAuthorizer {
        let options = settings.signingOptions(for: channel)
        do {
            let assembly = AWSAssembly(
                secrets: secrets,
                environment: environment,
                report: report,
                transport: try oauthClients.transport(trustedBy: credential.tls),
                owner: credential.owner
            )
            if settings.role == nil, case .keys(let keys) = settings.source {
                // Do not use the token engine: it pauses after a rejection, but keys may be replaced at any
                // time.
                let base = rotating(
                    try await assembly.first(keys).held(),
                    from: settings.secretReferences,
                    at: "\(credential.owner): \(credential.owner.key("aws"))"
                ) { try await assembly.current(keys).held() }
                return AWSAuthorizer(base, options)
            }
            let source = try await assembly.source(settings, in: options.scope.region)
            return AWSAuthorizer(
                AWSAuthorizer.manager(of: source, onEvent: events(of: credential.owner, log)),
                options
            )
        } catch {
            throw IOError.system("\(credential.owner): \(error)")
        }
    }

    private func events(
        of owner: CredentialConfiguration.Owner,
        _ log: ChannelLog
    ) -> @Sendable (OAuthEvent) -> Void {
        { [report, followSignIn, tokenRequests] event in
            tokenRequests.count(event, of: owner.name)
            if case .signedInElsewhere = event { followSignIn(owner.name) }
            if var record = event.record {
                if case .identity(let name) = owner { record.add("identity", .text(name)) }
                log.write(record)
            }
            if let line = event.line { report("\(owner): \(line)") }
        }
    }
}
