import NetproxyChannels
import NetproxyConfig
import NetworkCore
import OAuth

extension SignIn {
    /// Whether a client is registered although one is known.
    package enum Registration: Sendable {
        case whenNeeded
        /// The server does not know the one that is known.
        case again
    }

    /// Whether `discover` is needed before a sign-in.
    package var findsServer: Bool { settings.discovery != nil }

    /// Whether a sign-in failed because the server does not know the client that it has registered, or
    /// has registered it for another way of signing in.
    package func needsAnotherClient(after failure: Failure) -> Bool {
        client.configuration.pinned?.client.kind == .registered
            && ["invalid_client", "unauthorized_client"].contains(failure.serverError)
    }

    /// Asks the upstream what protects it, shows the server that is about to be trusted, and prepares to
    /// sign in there.
    ///
    /// - Parameters:
    ///   - scopes: scopes to ask for beside those that the resource names.
    ///   - way: how the user is about to sign in.
    ///   - registration: whether a client is registered in any case.
    /// - Throws: `Failure`, also if the server or the resource is another one than at the last sign-in.
    package mutating func discover(
        adding scopes: [String] = [],
        by way: Way = .browser,
        registering registration: Registration = .whenNeeded
    ) async throws {
        guard let discovery = settings.discovery, let channel else { return }
        // Before a client is registered whose tokens could not be stored.
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

    /// The scopes in a text of the user's, which blanks separate.
    ///
    /// - Throws: `Failure` without one, and if a part cannot be a scope (RFC 6749 §3.3).
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

    /// How the user is about to sign in.
    package enum Way: Sendable {
        case browser, device
    }
}
