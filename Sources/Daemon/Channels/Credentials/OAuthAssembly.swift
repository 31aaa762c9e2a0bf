import NetproxyBytes
package import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
package import NetproxySettings
import NetproxySystem
package import NetworkCore
package import OAuth
import OriginTransport

/// Creates the OAuth client of a credential, for the daemon and for `netproxy login` alike.
package struct OAuthAssembly: Sendable {
    /// The purpose of a client.
    package enum Purpose: Sendable {
        /// The client sends requests to the authorization server.
        case signIn
        /// The client sends one request and stores nothing.
        case trial
        /// The client inspects the stored tokens.
        ///
        /// The client secret, its key and a proxy's password are not read: possibly only the service has
        /// permission to read them.
        case look
    }

    let secrets: SecretReader
    private let directory: String
    /// The storage of tokens.
    package let state: StatePlace
    private let loop: EventLoop
    private let options: UpstreamOptions
    private let report: OperatorReport
    /// The transport of all credentials that need no separate one.
    private let shared: PooledTransport

    /// Creates the parts that all clients share; requests to authorization servers run on `loop`.
    package init(
        _ configuration: ProxyConfiguration,
        secrets: SecretReader,
        loop: EventLoop,
        report: @escaping OperatorReport = { _ in }
    ) throws {
        self.report = report
        self.secrets = secrets
        self.loop = loop
        directory = configuration.state
        state = try StatePlace(configuration, secrets: secrets, loop: loop, report: report)
        var options = UpstreamOptions()
        // A channel renews one token at a time, but many channels may use one server, and those that wait for
        // a slow server must not delay the others. A request that waits for a connection has not been sent
        // yet; it times out early enough to leave time for a response.
        options.connections = 512
        // With HTTP/1, a broken connection risks the token of one request only.
        options.versions = .http1
        options.timeSettings = .fixed("requests to an authorization server")
        options.responseTimeout = .seconds(10)
        options.queueTimeout = .seconds(1)
        self.options = options
        shared = try PooledTransport(options: options, on: loop)
    }

    /// Creates the state directory and opens the token stores, if channels need them.
    ///
    /// - Throws: an error that names the unusable directory, key or store.
    func prepareState(for channels: [ChannelConfiguration]) async throws {
        let credentials = channels.flatMap(\.credentials).filter { $0.oauth != nil }
        if !credentials.isEmpty || channels.contains(where: { $0.retry.spill != nil }) {
            try ConfiguredDirectory.make(directory, mode: 0o700, for: "state")
        }
        for credential in credentials { _ = try await state.store(of: credential) }
    }

    /// Creates the client of a credential.
    ///
    /// - Parameters:
    ///   - configured: the settings of the credential.
    ///   - credential: the credential.
    ///   - purpose: the purpose of the client.
    ///   - pinned: the server discovered from the upstream's URL, if any.
    /// - Returns: the client.
    /// - Throws: an error that names the unreadable or unusable value.
    package func client(
        _ configured: OAuthSettings,
        of credential: CredentialConfiguration,
        for purpose: Purpose = .signIn,
        at pinned: PinnedServer? = nil
    ) async throws -> OAuthClient {
        if purpose != .trial {
            try ConfiguredDirectory.make(directory, mode: 0o700, for: "state")
        }
        let settings = pinned.map(configured.resolved) ?? configured
        let account = try await serviceAccount(settings)
        let tokenURL = settings.tokenURL.map(ServerEndpoint.init)
        let named = tokenURL ?? account.flatMap { ServerEndpoint($0.tokenURI) }
        // Without a server nothing is sent: a user must sign in first.
        let issuer = settings.issuer.flatMap { ServerEndpoint($0) }
        guard let server = named ?? issuer ?? (settings.discovery == nil ? nil : "") else {
            throw IOError.system("auth.oauth names no token endpoint: set token_url or issuer")
        }
        var configuration = OAuthConfiguration(
            settings,
            of: credential,
            at: server,
            grant: try await grant(settings, account)
        )
        configuration.refreshEndpoint = settings.refreshURL.map(ServerEndpoint.init)
        configuration.requestFormat = settings.requestFormat == .json ? .json : .form
        for (name, pointer) in settings.responsePointers {
            guard let member = TokenResponseMember(rawValue: name) else { continue }
            configuration.responsePointers[member] = pointer
        }
        configuration.pinned = pinned
        configuration.isDiscovered = configured.discovery != nil
        if let key = settings.proofKey {
            configuration.proof = ProofOfPossession(
                key: try await signingKey(key, id: nil, "dpop_key")
            )
        }
        var transport = OwnRequests(over: shared)
        if purpose != .look {
            try await readSecrets(of: settings, credential, into: &configuration)
            if let own = try await ownTransport(settings, of: credential, &configuration) {
                transport = OwnRequests(over: own)
            }
        }
        return client(
            settings,
            configuration,
            over: transport,
            to: named == nil ? .discovered : .configured,
            keeping: try await state.store(of: credential)
        )
    }

    /// The knowledge of the token endpoint.
    private enum Endpoint {
        case configured
        /// The endpoint is in the server's metadata.
        case discovered
    }

    private func client(
        _ settings: OAuthSettings,
        _ configuration: OAuthConfiguration,
        over transport: OwnRequests,
        to endpoint: Endpoint,
        keeping store: any TokenStoring
    ) -> OAuthClient {
        let pinned = configuration.pinned
        let direct = TokenEndpointClient(transport: transport)
        let metadata = settings.issuer.map {
            MetadataDirectory(
                pinned == nil ? .configured : .pinned,
                issuer: $0,
                transport: transport,
                serverClock: direct.serverClock,
                plainHTTP: configuration.allowsInsecure ? .accepted : .refused
            )
        }
        var service: any OAuthService = direct
        if endpoint == .discovered, let metadata {
            service = DiscoveringTokenClient(direct, directory: metadata)
        }
        if pinned?.client.kind == .registered { service = RegisteredClientService(over: service) }
        return OAuthClient(
            settings: settings,
            configuration: configuration,
            service: service,
            transport: transport,
            store: store,
            metadata: metadata
        )
    }

    /// Reads the client's secret or key, and the secret fields of token requests.
    private func readSecrets(
        of settings: OAuthSettings,
        _ credential: CredentialConfiguration,
        into configuration: inout OAuthConfiguration
    ) async throws {
        configuration.clientSecret =
            try await secret(settings.clientSecret) ?? configuration.pinned?.client.secret
        configuration.rotatingSecret = rotating(
            configuration.clientSecret,
            settings.clientSecret,
            "client_secret",
            credential
        )
        configuration.requestFields = try await fields(settings.tokenFields)
        guard let key = settings.clientKey else { return }
        configuration.clientKey = try await signingKey(key.key, id: key.id, "client_key.key")
        configuration.rotatingSecret = rotating(
            try await secrets.document(key.key),
            key.key,
            "client_key.key",
            credential
        ) { pem in _ = try SigningKey(pem: pem) }
        configuration.clientAssertionAudience = key.audience
    }

    /// Returns a transport for netproxy's own requests, such as those to the Security Token Service.
    ///
    /// Server certificates are verified like those of the channel's API.
    package func transport(trustedBy tls: TLSDemands) throws -> any HTTPTransport {
        guard tls.authorities != nil else { return OwnRequests(over: shared) }
        var options = options
        options.tls = tls.trust
        return OwnRequests(over: try PooledTransport(options: options, on: loop))
    }

    // MARK: - Discovered servers

    /// Returns the server trusted at the last sign-in to a channel.
    ///
    /// The result is `nil` before the first sign-in and for a channel with a configured server. It is also
    /// `nil` if the sign-in was for another resource than the channel's, because the token is valid only
    /// there.
    package func pinned(of channel: ChannelConfiguration) async -> PinnedServer? {
        guard let stored = await stored(of: channel), stored.isOf(channel) else { return nil }
        return stored
    }

    /// Returns the server trusted at the last sign-in to a channel, and reports a sign-in for another
    /// resource.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - earlier: the previously known server, returned if the store cannot be read.
    /// - Returns: `nil` before the first sign-in.
    func stored(
        of channel: ChannelConfiguration,
        orKnown earlier: PinnedServer? = nil
    ) async -> PinnedServer? {
        guard channel.discovery != nil, let credential = channel.credentials.first else {
            return nil
        }
        do {
            guard let stored = try await storedServer(of: credential) else { return nil }
            if !stored.isOf(channel) {
                report(
                    "\(credential.owner): the last sign-in was for \(stored.resource) and not for "
                        + "\(channel.endpoint); sign in again: \(credential.signIn)"
                )
            }
            return stored
        } catch {
            report("\(credential.owner): the server that was trusted cannot be read: \(error)")
            return earlier
        }
    }

    /// Returns the server of the last sign-in with a credential, for any resource.
    func storedServer(of credential: CredentialConfiguration) async throws -> PinnedServer? {
        let store = try await state.store(of: credential)
        return try await OffLoop.run { try await store.load()?.pinned }
    }

    /// Returns a transport to a channel's upstream with the channel's settings, without its credential.
    package func upstream(of channel: ChannelConfiguration) async throws -> any HTTPTransport {
        var proxy: ParentProxy?
        if let settings = channel.proxy {
            proxy = try ParentProxy(
                settings,
                try await secret(settings.login?.password),
                for: "channel \(channel.name): proxy"
            )
        }
        var options = UpstreamOptions(channel, proxy: proxy)
        if case .name(let name) = channel.host { options.host = .name(name) }
        options.responseTimeout = .seconds(10)
        return OwnRequests(over: try PooledTransport(options: options, on: loop))
    }

    /// Returns the client's secret, which is read again after the server has rejected it.
    ///
    /// - Parameters:
    ///   - secret: the current secret.
    ///   - reference: the place of the secret.
    ///   - key: the key in `auth.oauth` that names the place.
    ///   - credential: the credential of the client.
    ///   - check: for a key in PEM, throws an error if the new key is invalid; the old key then remains in
    ///     use.
    /// - Returns: `nil` for a secret that never changes.
    private func rotating(
        _ secret: Secret?,
        _ reference: SecretReference?,
        _ key: String,
        _ credential: CredentialConfiguration,
        check: (@Sendable (Secret) throws -> Void)? = nil
    ) -> RotatingSecret? {
        guard let secret, let reference, reference.isFile || reference.isProgram else { return nil }
        let read = source(of: reference, as: check == nil ? .line : .document)
        return RotatingSecret(secret) { [report] in
            let place =
                "\(credential.owner): the server rejected \(credential.owner.key("oauth.\(key)"))"
            let found = try await read()
            guard found != secret else { return found }
            do {
                try check?(found)
            } catch {
                report("\(place); the new one from \(reference) cannot be used: \(error)")
                throw error
            }
            report("\(place); using the new value from \(reference)")
            return found
        }
    }

    private func fields(_ fields: [OAuthSettings.TokenField]) async throws -> [HTTPField] {
        var known: [HTTPField] = []
        for field in fields {
            let (name, value) =
                switch field {
                case .text(let field): (field.name, field.value)
                case .secret(let field):
                    (field.name, try await secrets.secret(field.value).reveal())
                }
            guard let line = HTTPFieldName(name).flatMap({ HTTPField($0, value) }) else {
                throw IOError.system(
                    "auth.oauth.token_headers.\(name): the value begins or ends with a space or tab"
                )
            }
            known.append(line)
        }
        return known
    }

    func secret(_ reference: SecretReference?) async throws -> Secret? {
        guard let reference else { return nil }
        return try await secrets.secret(reference)
    }

    /// Returns a separate transport to the authorization server; `nil` to use the shared one.
    ///
    /// The server's certificate is verified like that of the channel's API: by the system's roots, or by the
    /// channel's or identity's own authority. With `client_auth: tls` the client presents its certificate.
    private func ownTransport(
        _ settings: OAuthSettings,
        of credential: CredentialConfiguration,
        _ configuration: inout OAuthConfiguration
    ) async throws -> ReplaceableTransport? {
        let presents = settings.clientAuthentication == .tls
        let certificate = presents ? credential.tls.clientCertificate : nil
        guard credential.tls.authorities != nil || certificate != nil || settings.proxy != nil
        else { return nil }
        var options = options
        if let proxy = settings.proxy {
            let password = try await secret(proxy.login?.password)
            options.proxy = try ParentProxy(proxy, password, for: "auth.oauth.proxy")
        }
        options.tls = credential.tls.trust
        options.tls.clientCertificate = certificate
        let transport = ReplaceableTransport(try PooledTransport(options: options, on: loop))
        if presents {
            configuration.rotatingSecret = rotatingCertificate(options, of: transport, credential)
        }
        return transport
    }

    /// Returns the client's certificate and its key, which are read again after the server has rejected them.
    ///
    /// They need new connections: open connections have presented the old certificate.
    private func rotatingCertificate(
        _ options: UpstreamOptions,
        of transport: ReplaceableTransport,
        _ credential: CredentialConfiguration
    ) -> RotatingSecret? {
        let files = options.tls.clientCertificate?.files ?? []
        let read: @Sendable () throws -> Secret = {
            let bytes = try files.flatMap { try SecretResolver.contents($0) }
            return Secret(String(decoding: bytes, as: UTF8.self))
        }
        guard let first = try? read() else { return nil }
        return RotatingSecret(first) { [report, loop] in
            let found = try await OffLoop.run { try read() }
            guard found != first else { return found }
            transport.replace(
                by: try await OffLoop.run { try PooledTransport(options: options, on: loop) }
            )
            report(
                "\(credential.owner): the server rejected the client; using the new certificate from "
                    + files[0]
            )
            return found
        }
    }
}
