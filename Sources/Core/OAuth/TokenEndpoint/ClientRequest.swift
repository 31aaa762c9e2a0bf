import FoundationEssentials
import NetproxyBytes
import NetworkCore

/// Makes the form that a client posts to an endpoint of the authorization server, with the client's
/// authentication (RFC 6749 §2.3).
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
        to endpoint: ServerEndpoint,
        as format: TokenRequestFormat = .form
    ) throws(TokenFailure) -> Request {
        try check(endpoint)
        let type =
            switch format {
            case .form: "application/x-www-form-urlencoded"
            case .json: "application/json"
            }
        var headers = headers(of: type)
        var form = parameters
        try identify(&form, &headers)
        let content =
            switch format {
            case .form: FormEncoding.encode(form)
            case .json: try Self.json(form)
            }
        return request(to: endpoint.without(form), headers, content)
    }

    /// Returns the parameters as a JSON object.
    private static func json(_ form: [FormParameter]) throws(TokenFailure) -> String {
        enum Value: Encodable {
            case text(String)
            case list([String])

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .text(let text): try container.encode(text)
                case .list(let texts): try container.encode(texts)
                }
            }
        }
        let values = Dictionary(grouping: form.filter { !$0.value.isEmpty }, by: \.name)
            .mapValues { $0.count == 1 ? Value.text($0[0].value) : .list($0.map(\.value)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(values), as: UTF8.self)
        } catch {
            throw TokenFailure(.configuration, detail: "the parameters cannot be written as JSON")
        }
    }

    /// Returns the request that presents a grant as JSON, with the assertion as its bearer token.
    func post(
        json: String,
        bearing assertion: Secret?,
        to endpoint: ServerEndpoint
    ) throws(TokenFailure) -> Request {
        try check(endpoint)
        var headers = headers(of: "application/json")
        if let assertion {
            headers.append(.authorization, validated: "Bearer \(assertion.reveal())")
        }
        return request(to: endpoint, headers, json)
    }

    private func check(_ endpoint: ServerEndpoint) throws(TokenFailure) {
        guard endpoint.malformed == nil else {
            throw TokenFailure(
                .configuration,
                detail: "'\(endpoint)' is not an http or https URL without user information"
            )
        }
        guard endpoint.isPrivate || configuration.allowsInsecure else {
            throw TokenFailure(
                .configuration,
                detail:
                    "the token endpoint \(endpoint.origin) is not https; secrets are not sent to it"
            )
        }
    }

    private func headers(of mediaType: String) -> HTTPHeaders {
        [
            .contentType: mediaType, .accept: "application/json",
            // RFC 9110 §12.5.3: without it any coding is acceptable.
            .acceptEncoding: "identity",
        ]
    }

    private func request(
        to endpoint: ServerEndpoint,
        _ headers: HTTPHeaders,
        _ content: String
    ) -> Request {
        var headers = headers
        for field in configuration.requestFields { headers.set(field) }
        return Request(
            method: .post,
            origin: endpoint.origin,
            target: endpoint.target,
            headers: headers,
            body: .bytes(ByteSlice(content))
        )
    }

    /// Adds the client's identity, by exactly one method (RFC 6749 §2.3).
    private func identify(
        _ form: inout [FormParameter],
        _ headers: inout HTTPHeaders
    ) throws(TokenFailure) {
        let secret = configuration.presentedSecret?.reveal() ?? ""
        switch configuration.clientAuthentication {
        case .none, .tls:
            // RFC 8705 §2: the certificate authenticates the client that client_id names.
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

    /// Returns an assertion for this request alone: its `jti` is never used again (RFC 7523 §3).
    private func assertion() throws(TokenFailure) -> Secret {
        let assertion = Assertion(
            key: try configuration.signingKey(),
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

/// Makes the request that presents a grant to the token endpoint (RFC 6749 §3.2).
enum TokenRequest {
    static func make(
        _ grant: TokenGrant,
        _ configuration: OAuthConfiguration,
        at now: UnixTime
    ) throws(TokenFailure) -> Request {
        var form = [FormParameter("grant_type", grant.type)]
        form += grant.parameters
        form += grant.secretParameters.map { FormParameter($0.name, $0.value.reveal()) }
        form += configuration.targets
        let endpoint = configuration.tokenEndpoint
        if let json = grant.json {
            return try ClientRequest(configuration, at: now)
                .post(json: json, bearing: grant.secretParameters.first?.value, to: endpoint)
        }
        return try ClientRequest(configuration, at: now)
            .post(form, to: endpoint, as: configuration.requestFormat)
    }
}

extension OAuthConfiguration {
    /// Whether a refused request is sent again by a plan: with another proof, or with another secret, which
    /// is read first.
    func sendsAgain(
        after refusal: RenewalPlan.Refusal,
        _ secret: Secret?,
        by plan: inout RenewalPlan
    ) async -> Bool {
        switch plan.next(after: refusal) {
        case .send: true
        case .sendWithNewSecret: await renewSecret(afterRefusalOf: secret)
        case .present, .retractAndPresent, .presentOtherToken, .end: false
        }
    }
}
