package import NetworkCore

/// The authorization server that a user trusted at a sign-in, found by the URL of a protected resource,
/// and netproxy's client there.
///
/// It is stored with the tokens. Nothing but another sign-in replaces it.
package struct PinnedServer: Sendable, Equatable {
    /// A client of the server.
    package struct Client: Sendable, Equatable {
        /// The origin of the client's id.
        package enum Kind: String, Sendable {
            /// It is in the configuration.
            case configured
            /// It is the URL of a document about the client.
            case document
            /// The server has registered it (RFC 7591).
            case registered
            /// The server had registered it and does not know it any more: the next sign-in registers
            /// another one.
            case refused
        }

        /// The authentication of a client without a key, by the names of RFC 7591 §2.
        package enum Authentication: String, Sendable, CaseIterable {
            case none
            case post = "client_secret_post"
            case basic = "client_secret_basic"
        }

        /// The client identifier.
        package var id: String
        /// The origin of the id.
        package var kind: Kind
        /// The secret that the server issued; one of the configuration is not kept here.
        package var secret: Secret?
        /// The expiry of the secret; `nil` if it does not expire.
        package var secretExpiresAt: UnixTime?
        /// The client's authentication, unless it is configured.
        package var authentication: Authentication
        /// The registered redirect URI, with its port.
        package var redirect: String?
        /// The registered scopes; empty for a client that may request any.
        package var scopes: [String]

        /// Describes a client.
        package init(
            id: String,
            kind: Kind,
            secret: Secret? = nil,
            secretExpiresAt: UnixTime? = nil,
            authentication: Authentication = .none,
            redirect: String? = nil,
            scopes: [String] = []
        ) {
            self.id = id
            self.kind = kind
            self.secret = secret
            self.secretExpiresAt = secretExpiresAt
            self.authentication = authentication
            self.redirect = redirect
            self.scopes = scopes
        }

        /// Whether the server is expected to accept the client at this time.
        package func isGood(at now: UnixTime) -> Bool {
            kind != .refused && secretExpiresAt.map { now < $0 } ?? true
        }

        /// Whether the client may request these scopes.
        package func covers(_ wanted: [String]) -> Bool {
            scopes.isEmpty || wanted.allSatisfy(scopes.contains)
        }
    }

    /// The document that led to the server.
    package enum Evidence: String, Sendable {
        /// The metadata of the resource (RFC 9728).
        case resource
        /// The metadata of an authorization server on the resource's origin, as in MCP 2025-03-26.
        case origin
    }

    /// The issuer identifier, byte for byte.
    package var issuer: String
    /// The resource identifier, byte for byte: the `resource` of every token request, if the resource has
    /// metadata.
    package var resource: String
    /// The document that led to the server.
    package var evidence: Evidence
    /// The client.
    package var client: Client
    /// The scopes requested at the last sign-in.
    package var scopes: [String]
    /// The paths of the endpoints on the resource's own origin, by which a client could sign in past
    /// netproxy.
    package var ownPaths: [String]

    /// Describes a server.
    package init(
        issuer: String,
        resource: String,
        evidence: Evidence = .resource,
        client: Client,
        scopes: [String] = [],
        ownPaths: [String] = []
    ) {
        self.evidence = evidence
        self.issuer = issuer
        self.resource = resource
        self.client = client
        self.scopes = scopes
        self.ownPaths = ownPaths
    }

    /// Whether a manager for `other` cannot use the tokens of this server.
    func isNews(after other: PinnedServer?) -> Bool {
        var known = other
        // The server itself tells that a client was refused.
        known?.client.kind = client.kind
        return self != known
    }
}
