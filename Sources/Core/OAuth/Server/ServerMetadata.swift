import FoundationEssentials
package import NetworkCore

/// The metadata of an authorization server (RFC 8414 §2, OpenID Connect Discovery §3).
public struct ServerMetadata: Sendable, Hashable {
    /// The issuer identifier, equal to the configured one; `nil` if only URLs are configured.
    public var issuer: String?
    /// The token endpoint.
    public var tokenEndpoint: ServerEndpoint?
    /// The page where a user signs in.
    public var authorizationEndpoint: ServerEndpoint?
    /// The endpoint for device codes (RFC 8628 §4).
    public var deviceEndpoint: ServerEndpoint?
    /// The endpoint for revocations (RFC 7009).
    public var revocationEndpoint: ServerEndpoint?
    /// The endpoint for pushed authorization requests (RFC 9126 §5).
    public var pushedEndpoint: ServerEndpoint?
    /// Whether the page accepts pushed requests only.
    public var requiresPushedRequests = false
    /// The token endpoint for clients with a certificate (RFC 8705 §5).
    public var certificateTokenEndpoint: ServerEndpoint?
    /// The device authorization endpoint for clients with a certificate.
    public var certificateDeviceEndpoint: ServerEndpoint?
    /// The revocation endpoint for clients with a certificate.
    public var certificateRevocationEndpoint: ServerEndpoint?
    /// The endpoint of pushed requests for clients with a certificate.
    public var certificatePushedEndpoint: ServerEndpoint?
    /// The client authentication methods of the token endpoint; `nil` if the server does not say.
    public var clientAuthentications: [String]?
    /// The PKCE methods supported; `nil` if the server does not say.
    public var challengeMethods: [String]?
    /// The algorithms for proofs of possession (RFC 9449 §5.1); `nil` if the server does not say.
    public var proofAlgorithms: [String]?
    /// Whether responses of the authorization endpoint carry `iss` (RFC 9207 §3).
    public var answersWithIssuer = false
    /// The endpoint for client registrations (RFC 7591 §3).
    public var registrationEndpoint: ServerEndpoint?
    /// Whether a client id may be the URL of a document about the client.
    public var acceptsClientDocuments = false
    /// The scopes that the server knows; `nil` if it does not say.
    public var scopes: [String]?
    /// The grant types of the token endpoint; `nil` if the server does not say.
    public var grantTypes: [String]?

    /// Creates metadata without any endpoint.
    public init(issuer: String? = nil) {
        self.issuer = issuer
    }

    /// The paths of the endpoints on an origin by which someone could sign in or register a client.
    package func paths(on origin: Origin) -> [String] {
        [
            authorizationEndpoint, tokenEndpoint, registrationEndpoint, deviceEndpoint,
            pushedEndpoint,
        ]
        .compactMap { $0 }.filter { $0.origin == origin }
        .map { String(TargetPath($0.target).path) }
    }

    private struct Document: Decodable {
        struct Aliases: Decodable {
            var token_endpoint: String?
            var device_authorization_endpoint: String?
            var revocation_endpoint: String?
            var pushed_authorization_request_endpoint: String?
        }
        var issuer: String
        var token_endpoint: String?
        var authorization_endpoint: String?
        var device_authorization_endpoint: String?
        var revocation_endpoint: String?
        var pushed_authorization_request_endpoint: String?
        var require_pushed_authorization_requests: Bool?
        var mtls_endpoint_aliases: Aliases?
        var token_endpoint_auth_methods_supported: [String]?
        var code_challenge_methods_supported: [String]?
        var dpop_signing_alg_values_supported: [String]?
        var authorization_response_iss_parameter_supported: Bool?
        var registration_endpoint: String?
        var client_id_metadata_document_supported: Bool?
        var grant_types_supported: [String]?
        var scopes_supported: [String]?
    }

    /// Reads a metadata document.
    ///
    /// - Parameters:
    ///   - document: the JSON.
    ///   - issuer: the issuer it must name, compared byte for byte (RFC 8414 §3.3).
    ///   - plainHTTP: whether `http` endpoints are accepted for hosts other than this machine.
    ///   - standing: the origin of the knowledge of the issuer.
    /// - Throws: `MetadataError`.
    init(
        _ document: [UInt8],
        from issuer: String,
        plainHTTP: ServerEndpoint.PlainHTTP,
        standing: IssuerStanding = .configured
    ) throws(MetadataError) {
        let members: Document
        do {
            members = try JSONDecoder().decode(Document.self, from: Data(document))
        } catch {
            throw MetadataError(
                "the metadata for \(issuer) is not a JSON object with an issuer",
                .notMetadata
            )
        }
        guard standing.accepts(members.issuer, for: issuer) else {
            let theirs = ServerWords.clean(members.issuer, secrets: []) ?? ""
            throw MetadataError(
                "the metadata for \(issuer) names another issuer, '\(theirs)'",
                .notMetadata
            )
        }
        let check = EndpointCheck(issuer: issuer, plainHTTP: plainHTTP, standing: standing)
        self.issuer = members.issuer
        requiresPushedRequests = members.require_pushed_authorization_requests ?? false
        clientAuthentications = members.token_endpoint_auth_methods_supported
        proofAlgorithms = members.dpop_signing_alg_values_supported
        challengeMethods = members.code_challenge_methods_supported
        answersWithIssuer = members.authorization_response_iss_parameter_supported ?? false
        acceptsClientDocuments = members.client_id_metadata_document_supported ?? false
        grantTypes = members.grant_types_supported
        scopes = members.scopes_supported
        try readEndpoints(of: members, check)
        if let aliases = members.mtls_endpoint_aliases { try readAliases(aliases, check) }
    }

    private mutating func readEndpoints(
        of members: Document,
        _ check: EndpointCheck
    ) throws(MetadataError) {
        tokenEndpoint = try check.required(members.token_endpoint, "token_endpoint")
        authorizationEndpoint =
            try check.optional(members.authorization_endpoint, "authorization_endpoint")
        deviceEndpoint = try check.optional(
            members.device_authorization_endpoint,
            "device_authorization_endpoint"
        )
        revocationEndpoint =
            try check.optional(members.revocation_endpoint, "revocation_endpoint")
        pushedEndpoint = try check.optional(
            members.pushed_authorization_request_endpoint,
            "pushed_authorization_request_endpoint"
        )
        registrationEndpoint =
            try check.optional(members.registration_endpoint, "registration_endpoint")
    }

    private mutating func readAliases(
        _ aliases: Document.Aliases,
        _ check: EndpointCheck
    ) throws(MetadataError) {
        let name = "mtls_endpoint_aliases"
        certificatePushedEndpoint =
            try check.optional(aliases.pushed_authorization_request_endpoint, name)
        certificateTokenEndpoint = try check.required(aliases.token_endpoint, name)
        certificateDeviceEndpoint =
            try check.optional(aliases.device_authorization_endpoint, name)
        certificateRevocationEndpoint = try check.optional(aliases.revocation_endpoint, name)
    }
}

/// Checks the endpoints in the metadata of an issuer.
private struct EndpointCheck {
    let issuer: String
    let plainHTTP: ServerEndpoint.PlainHTTP
    let standing: IssuerStanding

    /// Returns an endpoint that tokens need: a bad URL is an error.
    func required(_ text: String?, _ name: String) throws(MetadataError) -> ServerEndpoint? {
        guard let text, !text.isEmpty else { return nil }
        guard let endpoint = ServerEndpoint(text), endpoint.isAcceptable(plainHTTP) else {
            throw MetadataError("the \(name) in the metadata for \(issuer) is not an https URL")
        }
        try standing.check(endpoint, name, of: issuer)
        return endpoint
    }

    /// Returns an endpoint that tokens do not need: it must not fail the channel, so a bad URL counts as
    /// absent.
    func optional(_ text: String?, _ name: String) throws(MetadataError) -> ServerEndpoint? {
        guard let text, let endpoint = ServerEndpoint(text), endpoint.isAcceptable(plainHTTP)
        else { return nil }
        try standing.check(endpoint, name, of: issuer)
        return endpoint
    }
}

/// The reason why metadata is missing, as one clause that names the remedy.
public struct MetadataError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of reasons.
    enum Kind {
        /// Someone must act first.
        case lasting
        /// Another attempt may work.
        case transient
        /// The document is not this server's metadata, which may be at another place.
        case notMetadata
        /// The document is the metadata of another resource.
        case otherMetadata
    }

    /// The clause.
    public let description: String
    /// Whether it may work later.
    public var isTransient: Bool { kind == .transient }
    let kind: Kind

    init(_ description: String, _ kind: Kind = .lasting) {
        self.description = description
        self.kind = kind
    }
}
