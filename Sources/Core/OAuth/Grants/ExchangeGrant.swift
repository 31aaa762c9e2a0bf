public import NetworkCore

/// Exchanges another party's token for one of the client's (RFC 8693 §2.1).
public struct ExchangeGrant: GrantProviding {
    /// Reads the token, each time it is presented: tokens in files are replaced from time to time.
    public typealias Source = @Sendable () async throws -> Secret

    /// A token to present, with its type (RFC 8693 §3).
    public struct Token: Sendable {
        let source: Source
        let type: String

        /// Describes a token.
        ///
        /// - Parameters:
        ///   - type: the URI of its type.
        ///   - source: reads it.
        public init(type: String, source: @escaping Source) {
            self.source = source
            self.type = type
        }
    }

    private let subject: Token
    private let actor: Token?
    private let requestedType: String?
    private let source: String

    /// Exchanges the subject's token, on behalf of an actor if there is one.
    ///
    /// - Parameters:
    ///   - subject: whose token it is.
    ///   - actor: who acts for the subject.
    ///   - requestedType: the URI of the requested type; `nil` leaves it to the server.
    ///   - identity: where the subject's and the actor's tokens come from, without secrets: tokens
    ///     obtained for one identity are used for no other.
    public init(
        subject: Token,
        actor: Token? = nil,
        requestedType: String? = nil,
        identity: String
    ) {
        self.subject = subject
        self.actor = actor
        self.requestedType = requestedType
        source = identity
    }

    /// The sources and the types of the tokens.
    public var identity: String {
        FormEncoding.encode([
            FormParameter("from", source),
            FormParameter("subject_token_type", subject.type),
            FormParameter("actor_token_type", actor?.type ?? ""),
            FormParameter("requested_token_type", requestedType ?? ""),
        ])
    }

    /// Reads the tokens.
    ///
    /// - Throws: `TokenFailure` if one cannot be read.
    public func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant {
        var parameters = [
            FormParameter("scope", configuration.scopes.joined(separator: " ")),
            FormParameter("subject_token_type", subject.type),
            FormParameter("requested_token_type", requestedType ?? ""),
        ]
        var secrets = [
            TokenGrant.SecretParameter("subject_token", try await read(subject, "subject"))
        ]
        if let actor {
            parameters.append(FormParameter("actor_token_type", actor.type))
            secrets.append(
                TokenGrant.SecretParameter("actor_token", try await read(actor, "actor"))
            )
        }
        return TokenGrant(
            type: "urn:ietf:params:oauth:grant-type:token-exchange",
            parameters: parameters,
            secretParameters: secrets
        )
    }

    private func read(_ token: Token, _ name: String) async throws(TokenFailure) -> Secret {
        do {
            return try await token.source()
        } catch {
            // The error of a source names a place, never its content.
            throw TokenFailure(.transient, detail: "the \(name) token cannot be read (\(error))")
        }
    }
}
