import NetproxyAWSSigning
import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetproxySystem
import NetworkCore
import OAuth
import OriginTransport

/// Connects once to each upstream and each authorization server, for `netproxy check --online`.
///
/// Sends no credential to an upstream and stores nothing. Never presents a refresh token, because a server
/// that rotates it would invalidate the daemon's copy. In that case it only checks that the endpoint
/// responds.
package struct OnlineCheck: Sendable {
    /// The outcome of one attempt.
    package struct Outcome: Sendable, CustomStringConvertible {
        /// The channel and the server.
        package let subject: String
        /// A description of the outcome.
        package let words: String
        /// Whether the attempt failed.
        package let isFailure: Bool

        package var description: String { "\(subject): \(words)" }
    }

    /// The maximum duration of one attempt; connecting also has the channel's own timeout.
    private static let limit = Duration.seconds(20)

    private let configuration: ProxyConfiguration
    private let secrets: SecretReader
    private let oauthClients: OAuthAssembly
    private let loop: EventLoop
    private let environment: [String: String]

    /// Prepares the attempts.
    ///
    /// - Parameters:
    ///   - configuration: a valid configuration.
    ///   - environment: the variables that contain secrets.
    /// - Throws: a system error, if no event loop can be started.
    package init(_ configuration: ProxyConfiguration, environment: [String: String]) throws {
        self.configuration = configuration
        self.environment = environment
        ProcessSignal.ignoreBrokenPipes()
        loop = try EventLoop(index: 96)
        try loop.start()
        secrets = SecretReader(SecretResolver(environment: environment))
        oauthClients = try OAuthAssembly(configuration, secrets: secrets, loop: loop)
    }

    /// Stops the background work; call no other method afterward.
    package func close() { loop.stop() }

    /// Runs all attempts concurrently.
    ///
    /// - Returns: the outcomes, in the order of the configuration.
    package func run() async -> [Outcome] {
        let attempts =
            configuration.identities.flatMap { attempt($0.credential) }
            + configuration.channels.flatMap(attempts)
        return await withTaskGroup(of: (Int, Outcome).self) { group in
            for (index, attempt) in attempts.enumerated() {
                group.addTask { (index, await attempt()) }
            }
            var outcomes: [(Int, Outcome)] = []
            for await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private typealias Attempt = @Sendable () async -> Outcome

    private func attempts(_ channel: ChannelConfiguration) -> [Attempt] {
        guard channel.stub == nil else { return [] }
        var attempts: [Attempt] = channel.upstreams.map { upstream in
            { await connecting(to: upstream.origin, for: channel) }
        }
        for credential in channel.credentials where credential.identity == nil {
            attempts += attempt(credential)
        }
        return attempts
    }

    private func attempt(_ credential: CredentialConfiguration) -> [Attempt] {
        switch credential.authentication {
        case .oauth(let settings): return [{ await asking(settings, for: credential) }]
        case .aws(let settings):
            // Static keys without a role need no request.
            if settings.role == nil, case .keys = settings.source { return [] }
            return [{ await obtaining(settings, for: credential) }]
        case .none, .bearer, .basic, .header, .exec, .jwt, .hmac: return []
        }
    }

    /// Runs an attempt and describes its failure.
    private func outcome(
        _ subject: String,
        _ attempt: () async throws -> String
    ) async -> Outcome {
        do {
            return Outcome(subject: subject, words: try await attempt(), isFailure: false)
        } catch {
            return Outcome(subject: subject, words: "\(error)", isFailure: true)
        }
    }

    // MARK: - Upstreams

    private func connecting(to origin: Origin, for channel: ChannelConfiguration) async -> Outcome {
        await outcome("channel \(channel.name): \(origin)") {
            var proxy: ParentProxy?
            if let settings = channel.proxy {
                var password: Secret?
                if let login = settings.login {
                    password = try await secrets.secret(login.password)
                }
                proxy = try ParentProxy(settings, password, for: "proxy")
            }
            let options = UpstreamOptions(channel, proxy: proxy)
            let tls = origin.scheme == .https ? try TLSContext(channel.tls.options) : nil
            let loop = loop
            let (milliseconds, isUnpinned) = try await Self.connect(origin, options, tls, on: loop)
            let way = proxy.map { " through \($0.host):\($0.port)" } ?? ""
            // With `pin_mode: report`, a missing pin does not fail the connection.
            let pins = isUnpinned ? ", but no certificate of its chain has a pinned key" : ""
            return "connected\(way) in \(milliseconds) ms\(pins)"
        }
    }

    private static func connect(
        _ origin: Origin,
        _ options: UpstreamOptions,
        _ tls: TLSContext?,
        on loop: EventLoop
    ) async throws -> (milliseconds: Int64, isUnpinned: Bool) {
        try await Task(executorPreference: loop) {
            let pool = OriginPool(
                origin,
                options: options,
                tls: tls,
                on: loop,
                serving: .connections
            )
            var isUnpinned = false
            pool.onUnpinnedPeer = { isUnpinned = true }
            let taken = try await pool.connectOnce(until: loop.deadline(after: limit))
            return (Int64(taken / .milliseconds(1)), isUnpinned)
        }.value
    }

    // MARK: - Authorization servers

    private func asking(
        _ settings: OAuthSettings,
        for credential: CredentialConfiguration
    ) async -> Outcome {
        let place = settings.tokenURL.map { "\($0.origin)\($0.target)" } ?? settings.issuer
        return await outcome(
            "\(credential.owner): token endpoint\(place.map { " \($0)" } ?? "")"
        ) {
            let channel = configuration.channels.first { credential.owner == .channel($0.name) }
            var pinned: PinnedServer?
            if let channel { pinned = await oauthClients.pinned(of: channel) }
            let client = try await oauthClients.client(
                settings,
                of: credential,
                for: .trial,
                at: pinned
            )
            if settings.discovery != nil, pinned == nil {
                return "not known yet; netproxy login \(credential.name) finds it by the upstream"
            }
            guard let grant = try await client.harmlessGrant() else {
                return try await reaching(client)
            }
            let response = try await client.service.tokens(
                for: grant,
                configuration: client.configuration,
                deadline: .now + Self.limit
            )
            guard let lifetime = response.lifetime else { return "issued a token" }
            return "issued a token that is valid for \(lifetime.components.seconds) s"
        }
    }

    private func obtaining(
        _ settings: AWSSettings,
        for credential: CredentialConfiguration
    ) async -> Outcome {
        await outcome("\(credential.owner): credentials for AWS") {
            let channel = configuration.channels.first { $0.credentials.contains(credential) }
            let scope = settings.scope(for: channel?.upstreams.first?.origin)
            let assembly = AWSAssembly(
                secrets: secrets,
                environment: environment,
                report: { _ in },
                transport: try oauthClients.transport(trustedBy: credential.tls),
                owner: credential.owner
            )
            let issued = try await assembly.source(settings, in: scope.region ?? "us-east-1")
                .credentials(.initial, until: .now + Self.limit)
            guard let lifetime = issued.lifetime else { return "were issued" }
            return "were issued, valid for \(lifetime.components.seconds) s"
        }
    }

    /// Sends a request to the endpoint and accepts any response.
    private func reaching(_ client: OAuthClient) async throws -> String {
        var endpoint = client.settings.tokenURL.map(ServerEndpoint.init)
        // Renewals need no metadata if the endpoint is configured.
        if endpoint == nil {
            endpoint = try await client.server(needing: \.tokenEndpoint).tokenEndpoint
        }
        guard let endpoint else {
            throw IOError.system("auth.oauth names no token endpoint: set token_url or issuer")
        }
        var context = RequestContext(requestID: "check")
        context.deadline = .now + Self.limit
        let response = try await client.transport.send(
            Request(origin: endpoint.origin, target: endpoint.target),
            context: &context
        )
        return "answers (status \(response.status.rawValue)); no refresh token was presented"
    }
}

extension OAuthClient {
    /// Returns a grant that uses up nothing, or `nil` if there is only a refresh token, which may be rotated.
    fileprivate func harmlessGrant() async throws -> TokenGrant? {
        switch configuration.grant {
        case .clientCredentials: .clientCredentials(scopes: configuration.scopes)
        case .provided(let provider):
            try await provider.grant(for: configuration, at: SystemClock().wallNow)
        case .refreshToken: nil
        }
    }
}
