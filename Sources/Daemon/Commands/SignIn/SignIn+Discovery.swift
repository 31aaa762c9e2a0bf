import NetproxyChannels
import NetproxyConfig
import NetworkCore
import OAuth

extension SignIn {
    /// The policy for registering a client.
    package enum Registration: Sendable {
        case whenNeeded
        /// Register again, because the server does not know the previous client.
        case again
    }

    /// Whether a sign-in must call `discover` first.
    package var findsServer: Bool { settings.discovery != nil }

    /// Whether a sign-in failed because the server does not know its registered client, or registered it for
    /// another way to sign in.
    package func needsAnotherClient(after failure: Failure) -> Bool {
        client.configuration.pinned?.client.kind == .registered
            && ["invalid_client", "unauthorized_client"].contains(failure.serverError)
    }

    /// Queries the upstream for its authorization server, shows that server to the user, and prepares a
    /// sign-in there.
    ///
    /// - Parameters:
    ///   - scopes: scopes to request in addition to those that the resource names.
    ///   - way: the way to sign in.
    ///   - registration: whether to register a client in any case.
    /// - Throws: `Failure`, also if the server or the resource has changed since the last sign-in.
    package mutating func discover(
        adding scopes: [String] = [],
        by way: Way = .browser,
        registering registration: Registration = .whenNeeded
    ) async throws {
        guard let discovery = settings.discovery, let channel else { return }
        // Check the store before registering a client whose tokens could not be stored.
        try await prepare()
        do {
            let resource = ResourceDiscovery(
                channel: channel,
                settings: settings,
                discovery: discovery,
                upstream: try await assembly.upstream(of: channel),
                transport: client.transport,
                clock: SystemClock(),
                say: say
            )
            let server = try await resource.find(
                ResourceDiscovery.Request(
                    scopes: try scopes.flatMap { try Self.scopes(in: $0) },
                    purpose: way == .device ? .device : .browser,
                    registration: registration
                ),
                pinned: client.configuration.pinned
            )
            client = try await assembly.client(
                settings,
                of: credential,
                for: .signIn,
                at: server
            )
            asked = client.configuration
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(description: "\(credential.owner): \(error)")
        }
    }

    /// Splits the user's text into scopes at white space.
    ///
    /// - Throws: `Failure` if there is no scope, or if a part is not a valid scope (RFC 6749 §3.3).
    package static func scopes(in text: String) throws(Failure) -> [String] {
        let scopes = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard !scopes.isEmpty else { throw Failure(description: "a scope must not be empty") }
        for scope in scopes where !ScopeList.isScope(scope) {
            throw Failure(
                description:
                    "\(scope.debugDescription) is not a scope: it may have printable ASCII characters, "
                    + "but no quotation mark and no backslash"
            )
        }
        return scopes
    }

    /// The way to sign in.
    package enum Way: Sendable {
        case browser, device
    }
}
