import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyPath
import NetproxySystem
import NetworkCore
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
        let context = CredentialContext(
            of: credential,
            secrets: secrets,
            environment: environment,
            oauthClients: oauthClients
        )
        let channel = configuration.channels.first { $0.credentials.contains(credential) }
        guard let trial = credential.provider?.trial(for: channel, in: context) else { return [] }
        return [{ await outcome("\(credential.owner): \(trial.subject)", trial.run) }]
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
            let tls = origin.scheme == .https ? try TLSContext(channel.tls) : nil
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
            let taken = try await pool.connectOnce(
                until: loop.deadline(after: CredentialTrial.limit)
            )
            return (Int64(taken / .milliseconds(1)), isUnpinned)
        }.value
    }
}
