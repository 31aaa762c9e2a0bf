import FoundationEssentials
import NetworkCore

/// A form sent to an endpoint of the authorization server by a client that says who it is
/// (RFC 6749 §2.3).
struct ClientRequest {
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private let configuration: OAuthConfiguration
    private let now: UnixTime

    init(_ configuration: OAuthConfiguration, at now: UnixTime) {
        self.configuration = configuration
        self.now = now
    }

    func post(
        _ parameters: [FormParameter],
        to endpoint: ServerEndpoint
    ) throws(TokenFailure) -> Request {
        guard endpoint.malformed == nil else {
            throw TokenFailure(
                .configuration,
                detail: "'\(endpoint)' is no http or https URL without user information"
            )
        }
        guard endpoint.isPrivate || configuration.allowsInsecure else {
            throw TokenFailure(
                .configuration,
                detail:
                    "the token endpoint \(endpoint.origin) is not https; secrets are not sent to it"
            )
        }
        var headers: HTTPHeaders = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
            // RFC 9110 §12.5.3: without it any coding will do, and none is undone here.
            .acceptEncoding: "identity",
        ]
        var form = parameters
        try identify(&form, &headers)
        return Request(
            method: .post,
            origin: endpoint.origin,
            target: endpoint.target,
            headers: headers,
            body: .bytes(ByteSlice(FormEncoding.encode(form)))
        )
    }

    /// Adds the client's identity, by exactly one method (RFC 6749 §2.3).
    private func identify(
        _ form: inout [FormParameter],
        _ headers: inout HTTPHeaders
    ) throws(TokenFailure) {
        let secret = configuration.clientSecret?.reveal() ?? ""
        switch configuration.clientAuthentication {
        case .none, .tls:
            // RFC 8705 §2: the certificate proves who the client is, client_id says it.
            form.append(FormParameter("client_id", configuration.clientID))
        case .post:
            form.append(FormParameter("client_id", configuration.clientID))
            form.append(FormParameter("client_secret", secret))
        case .basic:
            let pair =
                "\(FormEncoding.encode(configuration.clientID)):\(FormEncoding.encode(secret))"
            setBasic(pair, &headers)
        case .basicRaw:
            guard !configuration.clientID.utf8.contains(UInt8(ascii: ":")) else {
                throw TokenFailure(
                    .configuration,
                    detail:
                        "a client id with a colon cannot be sent with raw Basic; use basic or post"
                )
            }
            setBasic("\(configuration.clientID):\(secret)", &headers)
        case .privateKeyJWT:
            form.append(FormParameter("client_id", configuration.clientID))
            form.append(FormParameter("client_assertion_type", Self.assertionType))
            form.append(FormParameter("client_assertion", try assertion().reveal()))
        }
    }

    /// Signed for this request alone: its `jti` is never used again (RFC 7523 §3).
    private func assertion() throws(TokenFailure) -> Secret {
        guard let key = configuration.clientKey else {
            throw TokenFailure(.configuration, detail: "private_key_jwt needs a key to sign with")
        }
        let assertion = Assertion(
            key: key,
            issuer: configuration.clientID,
            subject: configuration.clientID,
            audience: configuration.clientAssertionAudience ?? configuration.issuer
                ?? configuration.tokenEndpoint.description
        )
        return try assertion.presentable(at: now)
    }

    private func setBasic(_ pair: String, _ headers: inout HTTPHeaders) {
        headers.append(
            .authorization,
            validated: "Basic \(Data(pair.utf8).base64EncodedString())"
        )
    }
}
