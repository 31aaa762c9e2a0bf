import FoundationEssentials
import NetproxySettings
package import NetworkCore

/// Requests the token of a GitHub App's installation: the app signs a JWT, and presents it with the
/// limits of the token.
///
/// The configuration's client is the app: its `clientID`, or its numeric id, and its `clientKey`.
package struct InstallationGrant: GrantProviding {
    /// The limits of a token.
    package struct Limits: Sendable, Encodable {
        /// Names of repositories, without their owner; empty means all of the installation.
        package var repositories: [String]
        /// Access by permission, such as `contents: read`; empty means all of the installation.
        package var permissions: [String: String]

        /// Sets limits.
        package init(repositories: [String] = [], permissions: [String: String] = [:]) {
            (self.repositories, self.permissions) = (repositories, permissions)
        }

        private enum Key: String, CodingKey {
            case repositories, permissions
        }

        /// Encodes the limits, without empty ones.
        package func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            if !repositories.isEmpty { try members.encode(repositories, forKey: .repositories) }
            if !permissions.isEmpty { try members.encode(permissions, forKey: .permissions) }
        }
    }

    /// The maximum lifetime of the app's own token at GitHub.
    private static let lifetime = Duration.seconds(600)

    /// The limits in JSON.
    private let limits: String

    /// Describes the grant.
    ///
    /// - Parameter limits: the limits of the tokens.
    package init(_ limits: Limits) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        do {
            self.limits = String(decoding: try encoder.encode(limits), as: UTF8.self)
        } catch {
            preconditionFailure("texts can be encoded")
        }
    }

    /// The limits only; the installation is already in the endpoint's URL.
    package var identity: String { "github_app \(limits)" }

    /// Signs the app's own token.
    ///
    /// - Throws: `TokenFailure` without a key that can sign.
    package func grant(
        for configuration: OAuthConfiguration,
        at now: UnixTime
    ) async throws(TokenFailure) -> TokenGrant {
        let app = SelfSignedToken(
            key: try configuration.signingKey(),
            claims: ["iss": .text(configuration.clientID)],
            lifetime: Self.lifetime
        )
        var grant = TokenGrant(
            type: "github_app",
            secretName: TokenGrant.assertionName,
            secret: try app.signed(at: now)
        )
        grant.json = limits
        return grant
    }
}
