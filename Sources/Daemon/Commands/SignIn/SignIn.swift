package import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxySystem
import NetworkCore
import OAuth

/// Signs a user in to a channel or an identity, and out, for `netproxy login` and `logout`.
///
/// Works with or without a running daemon, and writes to the same store under its lock.
package struct SignIn: Sendable {
    /// A failure that the user can act on.
    package struct Failure: Error, CustomStringConvertible {
        /// One clause, without secrets.
        package let description: String
        /// The server's `error` code, if it sent one.
        package var serverError: String?
    }

    let credential: CredentialConfiguration
    /// The channel that owns the credential, or `nil` for an identity.
    let channel: ChannelConfiguration?
    let settings: OAuthSettings
    /// The OAuth client; `discover` replaces it.
    var client: OAuthClient
    let assembly: OAuthAssembly
    /// The configuration of the authorization request.
    ///
    /// For an identity, it names the resources of all channels that use it; each token is for fewer
    /// (RFC 8707 §2.2).
    var asked: OAuthConfiguration
    let loop: EventLoop
    let say: @Sendable (String) -> Void

    /// Reads a credential's secrets and prepares its OAuth client.
    ///
    /// - Parameters:
    ///   - name: the name of a channel or an identity.
    ///   - configuration: the configuration that contains it.
    ///   - environment: the variables that contain secrets.
    ///   - purpose: the purpose of the session; `look` permits nothing else.
    ///   - say: prints a line for the user.
    /// - Throws: `Failure`.
    package init(
        _ name: String,
        of configuration: ProxyConfiguration,
        environment: [String: String],
        for purpose: OAuthAssembly.Purpose = .signIn,
        say: @escaping @Sendable (String) -> Void
    ) async throws {
        let credential = try SignIn.credential(of: name, in: configuration, for: purpose)
        guard let settings = credential.oauth else {
            throw Failure(
                description: "\(credential.owner) has no \(credential.owner.key("oauth"))"
            )
        }
        channel = configuration.channels.first {
            credential.owner == .channel($0.name)
        }
        do {
            loop = try EventLoop(index: 97)
            try loop.start()
            assembly = try OAuthAssembly(
                configuration,
                secrets: SecretReader(SecretResolver(environment: environment)),
                loop: loop
            )
            var pinned: PinnedServer?
            if let channel { pinned = await assembly.pinned(of: channel) }
            client = try await assembly.client(
                settings,
                of: credential,
                for: purpose,
                at: pinned
            )
        } catch {
            throw Failure(description: "\(credential.owner): \(error)")
        }
        var asked = client.configuration
        let shared = configuration.channels.flatMap(\.credentials).filter {
            $0.owner == credential.owner
        }
        for resource in shared.flatMap({ $0.oauth?.resources ?? [] })
        where !asked.resources.contains(resource) {
            asked.resources.append(resource)
        }
        self.asked = asked
        if credential.identity != nil {
            let names = configuration.channels.filter { channel in
                channel.credentials.contains { $0.owner == credential.owner }
            }.map(\.name)
            servedChannels = "It is the identity of \(names.joined(separator: ", "))."
        }
        ProcessSignal.ignoreBrokenPipes()
        self.credential = credential
        self.settings = settings
        self.say = say
    }

    /// Returns the credential with a name.
    ///
    /// A sign-in covers everything that an identity has; a look covers only the part that the channel of that
    /// name receives.
    private static func credential(
        of name: String,
        in configuration: ProxyConfiguration,
        for purpose: OAuthAssembly.Purpose
    ) throws -> CredentialConfiguration {
        let identity = configuration.identities.first { $0.name == name }
        let channel = configuration.channels.first { $0.name == name }
        if case .look = purpose, let credential = channel?.credentials.first { return credential }
        if let identity { return identity.credential }
        guard let channel else {
            throw Failure(description: "there is no channel or identity \(name)")
        }
        let names = channel.credentials.compactMap(\.identity)
        guard names.count < 2 else {
            let list = names.joined(separator: ", ")
            throw Failure(
                description: "the channel \(name) uses the identities \(list): name one of them"
            )
        }
        guard let credential = channel.credentials.first else {
            throw Failure(description: "the channel \(name) has no auth")
        }
        return names.first.flatMap { name in
            configuration.identities.first { $0.name == name }?.credential
        } ?? credential
    }

    /// The name of the channel or identity to sign in to.
    package var name: String { credential.name }

    /// A sentence that names the channels of an identity, or `nil` for a channel.
    package private(set) var servedChannels: String?

    /// Whether a sign-in uses another device by default.
    package var prefersDevice: Bool { settings.grant == .deviceCode }

    /// Stops the background work; call no other method afterward.
    package func close() { loop.stop() }

    /// Runs some work, and waits until the store's locks are released.
    package func settling(_ work: () async throws -> Void) async throws {
        try await assembly.state.settling(work)
    }

    /// Rejects a sign-in that is not needed, or whose tokens could not be stored.
    func prepare() async throws {
        guard settings.grant.needsSignIn else {
            throw Failure(
                description:
                    "\(credential.name) uses \(settings.grant.rawValue): no sign-in is needed"
            )
        }
        do {
            try await client.store.prepareSignIn()
        } catch let error as TokenStoreError {
            throw Failure(description: "the tokens could not be stored: \(error)")
        }
    }

    /// Stores the tokens of a sign-in durably.
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
                "The server issued no refresh token: when this token expires, sign in again."
            )
            say(RefreshTokenAdvice.words(for: client.settings))
        }
    }

    /// Returns the stored access token of the channel.
    ///
    /// - Throws: `Failure` if there is none, or if it has expired.
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
        else { throw Failure(description: "no token of \(credential.name) is stored") }
        if let end = kept.expiresAt, end < SystemClock().wallNow {
            throw Failure(description: "the stored token of \(credential.name) has expired")
        }
        return kept.value.reveal()
    }
}
