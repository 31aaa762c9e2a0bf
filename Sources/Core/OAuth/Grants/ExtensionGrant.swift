public import NetworkCore

/// A grant defined by a provider (RFC 6749 §4.5), such as Zoom's `account_credentials`: a grant type
/// with parameters, some of which may be secret.
///
/// The configuration holds the other parameters.
public struct ExtensionGrant: GrantProviding {
    /// A parameter whose value is a secret.
    public struct SecretParameter: Sendable {
        let name: String
        let source: ExchangeGrant.Source

        /// Names the parameter.
        ///
        /// - Parameters:
        ///   - name: its name.
        ///   - source: reads its value, for each token request.
        public init(_ name: String, source: @escaping ExchangeGrant.Source) {
            self.name = name
            self.source = source
        }
    }

    private let type: String
    private let secrets: [SecretParameter]
    private let source: String

    /// Describes the grant.
    ///
    /// - Parameters:
    ///   - type: the `grant_type`.
    ///   - secrets: the secret parameters.
    ///   - identity: where the secrets come from, without them: tokens obtained with others are not used.
    public init(type: String, secrets: [SecretParameter] = [], identity: String = "") {
        self.type = type
        self.secrets = secrets
        source = identity
    }

    /// The grant type, and where the secrets come from.
    public var identity: String {
        FormEncoding.encode([FormParameter("grant_type", type), FormParameter("from", source)])
    }

    /// Reads the secrets.
    ///
    /// - Throws: `TokenFailure` if one cannot be read.
    public func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant {
        var parameters: [TokenGrant.SecretParameter] = []
        for secret in secrets {
            do {
                parameters.append(.init(secret.name, try await secret.source()))
            } catch {
                // The error of a source names a place, never its content.
                throw TokenFailure(
                    .transient,
                    detail: "the parameter \(secret.name) cannot be read (\(error))"
                )
            }
        }
        return TokenGrant(
            type: type,
            parameters: [FormParameter("scope", configuration.scopes.joined(separator: " "))],
            secretParameters: parameters
        )
    }
}
