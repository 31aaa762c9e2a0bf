import FoundationEssentials
import NetworkCore

/// What an authorization server publishes about itself (RFC 8414 §2, OpenID Connect Discovery §3).
public struct ServerMetadata: Sendable, Hashable {
    /// The issuer identifier, the same as the one that was asked for; nothing if only URLs are known.
    public var issuer: String?
    /// Where tokens are asked for.
    public var tokenEndpoint: ServerEndpoint?
    /// Where a person signs in.
    public var authorizationEndpoint: ServerEndpoint?
    /// Where a device asks for its code (RFC 8628 §4).
    public var deviceEndpoint: ServerEndpoint?
    /// Where tokens are revoked (RFC 7009).
    public var revocationEndpoint: ServerEndpoint?
    /// Where the token endpoint is for clients with a certificate (RFC 8705 §5).
    public var certificateTokenEndpoint: ServerEndpoint?
    /// The same for the codes of devices.
    public var certificateDeviceEndpoint: ServerEndpoint?
    /// The same for revocations.
    public var certificateRevocationEndpoint: ServerEndpoint?
    /// How clients may prove themselves to the token endpoint; nothing if it does not say.
    public var clientAuthentications: [String]?
    /// Which PKCE methods it knows; nothing if it does not say.
    public var challengeMethods: [String]?
    /// Which algorithms it takes proofs of possession in (RFC 9449 §5.1); nothing if it does not say.
    public var proofAlgorithms: [String]?
    /// Whether answers of the authorization endpoint carry `iss` (RFC 9207 §3).
    public var answersWithIssuer = false

    /// A server of which nothing is known yet.
    public init(issuer: String? = nil) {
        self.issuer = issuer
    }

    private struct Document: Decodable {
        struct Aliases: Decodable {
            var token_endpoint: String?
            var device_authorization_endpoint: String?
            var revocation_endpoint: String?
        }
        var issuer: String
        var token_endpoint: String?
        var authorization_endpoint: String?
        var device_authorization_endpoint: String?
        var revocation_endpoint: String?
        var mtls_endpoint_aliases: Aliases?
        var token_endpoint_auth_methods_supported: [String]?
        var code_challenge_methods_supported: [String]?
        var dpop_signing_alg_values_supported: [String]?
        var authorization_response_iss_parameter_supported: Bool?
    }

    /// Reads a metadata document.
    ///
    /// - Parameters:
    ///   - document: the JSON.
    ///   - issuer: whom it must be about, compared byte for byte (RFC 8414 §3.3).
    ///   - allowsInsecure: whether `http` endpoints beyond this machine are taken.
    /// - Throws: `MetadataError`.
    init(
        _ document: [UInt8],
        from issuer: String,
        allowsInsecure: Bool
    ) throws(MetadataError) {
        let members: Document
        do {
            members = try JSONDecoder().decode(Document.self, from: Data(document))
        } catch {
            throw MetadataError(
                "the metadata of \(issuer) is no JSON object with an issuer",
                isOfAnotherDocument: true
            )
        }
        guard members.issuer == issuer else {
            let theirs = ServerWords.clean(members.issuer, secrets: []) ?? ""
            throw MetadataError(
                "the metadata of \(issuer) is that of another issuer, '\(theirs)'",
                isOfAnotherDocument: true
            )
        }
        func endpoint(_ text: String?, _ name: String) throws(MetadataError) -> ServerEndpoint? {
            guard let text, !text.isEmpty else { return nil }
            guard let endpoint = ServerEndpoint(text), endpoint.isPrivate || allowsInsecure else {
                throw MetadataError("the \(name) in the metadata of \(issuer) is not an https URL")
            }
            return endpoint
        }
        // What is not needed for a token ends no channel: it is as if it were not offered.
        func offer(_ text: String?) -> ServerEndpoint? {
            guard let endpoint = text.flatMap({ ServerEndpoint($0) }) else { return nil }
            return endpoint.isPrivate || allowsInsecure ? endpoint : nil
        }
        self.issuer = issuer
        tokenEndpoint = try endpoint(members.token_endpoint, "token_endpoint")
        authorizationEndpoint = offer(members.authorization_endpoint)
        deviceEndpoint = offer(members.device_authorization_endpoint)
        revocationEndpoint = offer(members.revocation_endpoint)
        certificateTokenEndpoint =
            try endpoint(members.mtls_endpoint_aliases?.token_endpoint, "mtls_endpoint_aliases")
        certificateDeviceEndpoint =
            offer(members.mtls_endpoint_aliases?.device_authorization_endpoint)
        certificateRevocationEndpoint = offer(members.mtls_endpoint_aliases?.revocation_endpoint)
        clientAuthentications = members.token_endpoint_auth_methods_supported
        proofAlgorithms = members.dpop_signing_alg_values_supported
        challengeMethods = members.code_challenge_methods_supported
        answersWithIssuer = members.authorization_response_iss_parameter_supported ?? false
    }
}

/// Why there is no metadata: one clause a person can act on.
public struct MetadataError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause.
    public let description: String
    /// Whether it may work later.
    public let isTransient: Bool
    /// Whether what was found is no metadata at all, which may stand elsewhere.
    let isOfAnotherDocument: Bool

    init(_ description: String, isTransient: Bool = false, isOfAnotherDocument: Bool = false) {
        self.description = description
        self.isTransient = isTransient
        self.isOfAnotherDocument = isOfAnotherDocument
    }
}
