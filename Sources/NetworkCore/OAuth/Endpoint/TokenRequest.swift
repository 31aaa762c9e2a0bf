import FoundationEssentials

/// The request that presents a grant (RFC 6749 §3.2, §2.3.1).
enum TokenRequest {
    static func make(
        _ grant: TokenGrant,
        _ configuration: OAuthConfiguration
    ) throws(TokenFailure) -> Request {
        let origin = configuration.tokenEndpoint.origin
        guard origin.scheme == .https || origin.isLoopback || configuration.allowsInsecure else {
            throw TokenFailure(
                .configuration,
                detail: "the token endpoint \(origin) is not https; secrets are not sent to it"
            )
        }
        var headers: HTTPHeaders = [
            .contentType: "application/x-www-form-urlencoded", .accept: "application/json",
        ]
        var form = [FormParameter("grant_type", grant.type)]
        form += grant.parameters
        if let name = grant.secretName, let secret = grant.secret {
            form.append(FormParameter(name, secret.reveal()))
        }
        if let audience = configuration.audience {
            form.append(FormParameter("audience", audience))
        }
        form += configuration.resources.map { FormParameter("resource", $0) }
        form += configuration.parameters
        try identify(configuration, &form, &headers)
        return Request(
            method: .post,
            origin: origin,
            target: configuration.tokenEndpoint.target,
            headers: headers,
            body: .bytes(ByteSlice(FormEncoding.encode(form)))
        )
    }

    /// Adds the client's identity, by exactly one method (RFC 6749 §2.3).
    private static func identify(
        _ configuration: OAuthConfiguration,
        _ form: inout [FormParameter],
        _ headers: inout HTTPHeaders
    ) throws(TokenFailure) {
        let secret = configuration.clientSecret?.reveal() ?? ""
        switch configuration.clientAuthentication {
        case .none:
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
        }
    }

    private static func setBasic(_ pair: String, _ headers: inout HTTPHeaders) {
        headers.append(
            .authorization,
            validated: "Basic \(Data(pair.utf8).base64EncodedString())"
        )
    }
}
