import NetproxySettings

struct OAuthKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ issuer: https://login.example.com, client_id: app }"

    let grant = Key("grant", .choice(OAuthSettings.Grant.self))
    let issuer = Key("issuer", .url)
    let scopes = Key("scopes", .scopes, default: [])
    let audience = Key("audience", .text)
    let resource = Key("resource", .resources, default: [])
    let parameters = Key("parameters", .entries(of: .opaque), default: [:])
    let assertion = Key("assertion", AssertionKeys.self)
    let exchange = Key("exchange", TokenExchangeKeys.self)
    let proxy = Key("proxy", .off(or: .proxy), default: "off")
    let use = Key("use", .choice(OAuthSettings.TokenUse.self), default: "access_token")
    let discover = Key("discover", .flag, default: false)
    let installation = InstallationKeys()
    let grantType = Key("grant_type", .extensionGrant)
    let tokenHeaders = Key("token_headers", .headers(OAuthSettings.TokenField.init), default: [:])
    let authorizationParameters = Key(
        "authorization_parameters",
        .entries(of: .opaque),
        default: [:]
    )
    let tokenURL = Key("token_url", .url)
    let refreshURL = Key("refresh_url", .url)
    let requestFormat = Key(
        "token_request",
        .choice(OAuthSettings.RequestFormat.self),
        default: "form"
    )
    let response = Key("response", TokenResponseKeys.self)
    let authorizationURL = Key("authorization_url", .url)
    let deviceURL = Key("device_url", .url)
    let revocationURL = Key("revocation_url", .url)
    let pushedURL = Key("par_url", .url)
    let redirectURI = Key(
        "redirect_uri",
        .scalar(
            "http://127.0.0.1, http://[::1] or http://localhost, with a port or without, "
                + "and a path without query"
        ) { RedirectURI($0) },
        default: "http://127.0.0.1/callback"
    )
    let clientKey = Key("client_key", ClientKeyKeys.self)
    let proofKey = Key("dpop_key", .secret { .signingKey($0) })
    let clientMetadataURL = Key("client_metadata_url", .url)
    let clientID = Key("client_id", .text)
    let clientSecret = Key("client_secret", .secret)
    let clientAuthentication = Key("client_auth", .choice(ClientAuthentication.self))
    let refreshToken = Key("refresh_token", .secret)
    let refreshBefore = Key("refresh_before", .duration(atLeast: .zero), default: "5m")
}

extension Form<[String]> {
    /// A list of scopes.
    ///
    /// Several scopes in one text, as in requests, are an error that shows the list.
    static var scopes: Form {
        let scope = Form<String>.text("a scope without spaces", where: TextRules.isScope)
        let list = Form.list(scope)
        return Form(list.shape) { slot in
            let scopes = (slot.text ?? "").split(separator: " ").map(String.init)
            guard scopes.count > 1, scopes.allSatisfy(TextRules.isScope) else {
                return list.read(slot)
            }
            slot.report(
                "expected a list, [\(scopes.joined(separator: ", "))], "
                    + "found \(slot.node?.found ?? "nothing")"
            )
            return nil
        }
    }

    /// Resource indicators (RFC 8707 §2).
    static var resources: Form {
        .list(
            .text(
                "an absolute URI without fragment, such as https://api.example.com",
                where: TextRules.isResource
            )
        )
    }
}
