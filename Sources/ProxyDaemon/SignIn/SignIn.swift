import EventIO
import NetworkCore
import OAuth
package import ProxyConfig
import System

/// Signs a person in to a channel, and out: what `netproxy login` and `logout` do.
///
/// Works with or without a running daemon, and writes through the same store under its lock.
package struct SignIn: Sendable {
    /// Something a person can act on.
    package struct Failure: Error, CustomStringConvertible {
        /// One clause, without secrets.
        package let description: String
    }

    /// What it is for.
    package enum Purpose: Sendable {
        /// To speak to the authorization server.
        case signIn
        /// To look at what is stored: the client's secret, its key and a proxy's password are not read,
        /// which may be the service's alone.
        case look
    }

    let channel: ChannelConfiguration
    let settings: OAuthSettings
    let client: OAuthClient
    let loop: EventLoop
    let say: @Sendable (String) -> Void

    /// Reads a channel's secrets and prepares to speak for its client.
    ///
    /// - Parameters:
    ///   - name: the channel's name.
    ///   - configuration: where it is configured.
    ///   - environment: the variables that secrets are looked up in.
    ///   - purpose: what it is for; whoever only looks can do nothing else.
    ///   - say: prints a line for the person.
    /// - Throws: `Failure`.
    package init(
        _ name: String,
        of configuration: ProxyConfiguration,
        environment: [String: String],
        for purpose: Purpose = .signIn,
        say: @escaping @Sendable (String) -> Void
    ) async throws {
        guard let channel = configuration.channels.first(where: { $0.name == name }) else {
            throw Failure(description: "there is no channel \(name)")
        }
        guard case .oauth(let settings) = channel.authentication else {
            throw Failure(description: "the channel \(name) has no auth.oauth")
        }
        do {
            loop = try EventLoop(index: 97)
            try loop.start()
            let assembly = try OAuthAssembly(
                configuration,
                secrets: SecretReadings(SecretResolver(environment: environment)),
                loop: loop
            )
            client = try await assembly.client(settings, of: channel, for: purpose)
        } catch {
            throw Failure(description: "channel \(name): \(error)")
        }
        ProcessSignal.ignoreBrokenPipes()
        self.channel = channel
        self.settings = settings
        self.say = say
    }

    /// Whether a person signs in on another device where nothing else is said.
    package var prefersDevice: Bool { settings.grant == .deviceCode }

    /// Ends what runs in the background; nothing else may be called after it.
    package func close() { loop.stop() }

    /// Refuses a sign-in where none is of any use, or where nothing could be kept of it.
    func prepare() async throws {
        switch settings.grant {
        case .authorizationCode, .deviceCode, .refreshToken: break
        case .clientCredentials, .jwtBearer, .tokenExchange:
            throw Failure(
                description: "the channel \(channel.name) gets its tokens by "
                    + "\(settings.grant.rawValue): nobody signs in"
            )
        }
        do {
            try await client.store.prepareSignIn()
        } catch let error as TokenStoreError {
            throw Failure(description: "the tokens could not be stored: \(error)")
        }
    }

    /// Keeps what a sign-in brought, durably.
    func store(_ response: TokenResponse, asked: UnixTime) async throws {
        do {
            try await client.store.keepSignIn(
                response,
                configuration: client.configuration,
                asked: asked
            )
        } catch let error as TokenStoreError {
            let outcome = await giveBack(response)
            for line in outcome.lines + outcome.failures { say(line) }
            throw SignInError("the tokens cannot be stored: \(error)")
        }
        if response.refreshToken == nil {
            say(
                "The server gave no refresh token: when this token ends, somebody must sign in again."
            )
        }
    }

    /// The access token that is stored for the channel, if it has not ended.
    ///
    /// - Throws: `Failure` that says what is there instead.
    package func accessToken() async throws -> String {
        let record: TokenRecord?
        do {
            record = try await client.store.load()
        } catch {
            throw Failure(description: "the stored tokens cannot be read: \(error)")
        }
        guard let record, record.authority == client.configuration.authority,
            client.configuration.isOfConfiguredSeed(record),
            let kept = record.accessTokens[client.configuration.credentialKey]
        else { throw Failure(description: "no token of \(channel.name) is stored") }
        if let end = kept.expiresAt, end < SystemClock().wallNow {
            throw Failure(description: "the stored token of \(channel.name) has ended")
        }
        return kept.value.reveal()
    }
}
