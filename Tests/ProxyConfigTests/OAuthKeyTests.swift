import ProxyConfig
import Testing

/// The keys of grants and of client authentication.
@Suite struct OAuthKeyTests {
    private let base = "client_id: a, issuer: https://login.example"

    private func settings(_ oauth: String) throws -> OAuthSettings {
        guard
            case .oauth(let settings) = try channel("auth: { oauth: { \(oauth) } }").authentication
        else { throw Missing() }
        return settings
    }

    private struct Missing: Error {}

    @Test func `an issuer is kept byte for byte`() throws {
        let text = "HTTPS://Login.Example:443/tenant/"
        let settings = try settings("client_id: a, client_auth: none, issuer: '\(text)'")
        #expect(settings.issuer == text)
        #expect(settings.tokenURL == nil)
    }

    @Test func `a resource, or a list of them, is kept byte for byte`() throws {
        let one = try settings("\(base), client_auth: none, resource: 'https://API.example/?a=b'")
        #expect(one.resources == ["https://API.example/?a=b"])
        let two = try settings("\(base), client_auth: none, resource: ['urn:a', 'https://b']")
        #expect(two.resources == ["urn:a", "https://b"])
    }

    @Test(arguments: ["api.example", "/orders", "https://a#b", "'https:'", "'a b:c'", "':a'"])
    func `a resource is an absolute URI without a fragment`(text: String) {
        let lines = errors(
            inChannel: "auth: { oauth: { \(base), client_auth: none, resource: \(text) } }"
        )
        #expect(lines.count == 1)
        #expect(
            lines.first?.hasPrefix(
                "channels.a.auth.oauth.resource: expected an absolute URI without fragment"
            ) == true
        )
    }

    @Test func `resource is not allowed among the parameters`() {
        let lines = errors(
            inChannel:
                "auth: { oauth: { \(base), client_auth: none, parameters: { resource: a } } }"
        )
        #expect(
            lines == [
                "channels.a.auth.oauth.parameters.resource: "
                    + "netproxy sets resource itself, use the key for it"
            ]
        )
    }

    @Test func `the endpoints of a sign-in can be configured`() throws {
        let settings = try settings(
            """
            grant: authorization_code, client_id: a, client_auth: none, token_url: https://l.example/t,
                authorization_url: 'https://l.example/a?x=1', device_url: https://l.example/d,
                revocation_url: https://l.example/r, redirect_uri: 'http://[::1]:7000/back'
            """
        )
        #expect(settings.authorizationURL?.target == "/a?x=1")
        #expect(settings.deviceURL?.target == "/d")
        #expect(settings.revocationURL?.target == "/r")
        #expect(settings.redirect.host == "::1" && settings.redirect.port == 7000)
        #expect(settings.redirect.text(port: 7000) == "http://[::1]:7000/back")
    }

    @Test(arguments: [
        ("", "http://127.0.0.1:9/callback"),
        ("redirect_uri: http://localhost", "http://localhost:9"),
        ("redirect_uri: http://localhost/", "http://localhost:9/"),
        ("redirect_uri: 'http://[0:0:0::1]/a/b'", "http://[::1]:9/a/b"),
    ])
    func `a redirect URI without a port uses any free one`(line: String, uri: String) throws {
        let settings = try settings("\(base), client_auth: none, \(line)")
        #expect(settings.redirect.port == nil)
        #expect(settings.redirect.text(port: 9) == uri)
    }

    @Test(arguments: [
        "https://localhost/", "http://app.localhost/", "http://10.0.0.1/", "http://localhost:0/",
        "http://localhost:70000/", "http://localhost/?a=b", "'http://localhost/#a'", "auto",
        "http://u@localhost/", "http://localhost/a/../b", "http://", "/callback", "7000",
    ])
    func `a redirect URI is on this machine, without query or dot segments`(uri: String) {
        let oauth = "\(base), client_auth: none, redirect_uri: \(uri)"
        let found = errors(inChannel: "auth: { oauth: { \(oauth) } }")
        #expect(found.count == 1)
        #expect(found.first?.contains(".redirect_uri: expected http://127.0.0.1, ") ?? false)
    }

    @Test func `a client key is read with its id and audience`() throws {
        let settings = try settings(
            "\(base), client_auth: private_key_jwt, client_key: { key: file:/k.pem, id: k1 }"
        )
        #expect(settings.clientAuthentication == .privateKeyJWT)
        #expect(settings.clientKey?.key == .file("/k.pem"))
        #expect(settings.clientKey?.id == "k1")
        #expect(settings.clientKey?.audience == nil)
    }

    @Test func `tokens can be bound to a key`() throws {
        let settings = try settings("\(base), client_auth: none, dpop_key: file:/k.pem")
        #expect(settings.proofKey == .file("/k.pem"))
    }

    @Test func `tokens cannot be bound with more than one upstream`() {
        let text = """
            channels:
              a:
                upstream: [https://a.example, https://b.example]
                auth:
                  oauth: { client_id: a, client_auth: none, token_url: https://l.example/t, dpop_key: env:K }
            """
        let lines = errors(in: text)
        #expect(lines.count == 1)
        #expect(
            lines.first?.hasSuffix(
                "channels.a.auth.oauth.dpop_key: tokens cannot be bound to a key where the channel has "
                    + "more than one upstream"
            ) == true
        )
    }

    @Test func `a service account needs neither client_id nor token_url`() throws {
        let settings = try settings(
            "grant: jwt_bearer, assertion: { service_account: file:/account.json }"
        )
        #expect(settings.clientAuthentication == OAuthSettings.ClientAuthentication.none)
        #expect(settings.assertion?.signer == .serviceAccount(.file("/account.json")))
    }

    @Test func `a token exchange has default token types`() throws {
        let settings = try settings(
            "\(base), client_auth: none, grant: token_exchange, exchange: { subject_token: env:T }"
        )
        let type = "urn:ietf:params:oauth:token-type:access_token"
        #expect(settings.exchange?.subjectToken == .environment("T"))
        #expect(settings.exchange?.subjectTokenType == type)
        #expect(settings.exchange?.actorToken == nil)
        #expect(settings.exchange?.requestedTokenType == nil)
    }

    @Test(arguments: [
        (
            "client_id: a, client_auth: private_key_jwt, token_url: https://l.example/t",
            "client_key: required for client_auth private_key_jwt"
        ),
        (
            "client_id: a, client_auth: private_key_jwt, token_url: https://l.example/t, "
                + "client_key: { key: file:/k }",
            "client_key.audience: required if there is no issuer"
        ),
        (
            "client_id: a, client_auth: none, issuer: https://l.example, client_key: { key: file:/k }",
            "client_key: used only by client_auth private_key_jwt"
        ),
        (
            "grant: jwt_bearer, issuer: https://l.example",
            "assertion: required for the grant jwt_bearer"
        ),
        (
            "grant: jwt_bearer, issuer: https://l.example, assertion: { subject: a }",
            "assertion.key: key or service_account is required"
        ),
        (
            "grant: jwt_bearer, issuer: https://l.example, "
                + "assertion: { key: file:/k, service_account: file:/s }",
            "assertion.service_account: key and service_account cannot be used together"
        ),
        (
            "grant: jwt_bearer, issuer: https://l.example, assertion: { key: file:/k }",
            "assertion.issuer: required if there is no client_id"
        ),
        (
            "grant: jwt_bearer, client_auth: private_key_jwt, client_key: { key: file:/k }, "
                + "issuer: https://l.example, assertion: { key: file:/k, issuer: i }",
            "client_id: required"
        ),
        (
            "grant: token_exchange, client_auth: none, client_id: a, issuer: https://l.example",
            "exchange: required for the grant token_exchange"
        ),
        (
            "grant: device_code, client_auth: none, client_id: a, token_url: https://l.example/t",
            "device_url: device_url or issuer is required for device_code"
        ),
        (
            "grant: authorization_code, client_auth: none, client_id: a, token_url: https://l.example/t",
            "authorization_url: authorization_url or issuer is required for authorization_code"
        ),
        (
            "client_id: 'a:b', client_auth: basic_raw, client_secret: env:S, issuer: https://l.example",
            "client_id: a client_id with a colon cannot be sent with basic_raw, use basic or post"
        ),
        (
            "client_id: a, client_auth: none, issuer: 'https://l.example?x=1'",
            "issuer: an issuer must not have a query"
        ),
        (
            "client_id: a, client_auth: none, issuer: http://l.example",
            "issuer: would send credentials over http://, use https:// or set auth.allow_insecure: true"
        ),
        (
            "client_id: a, client_auth: none, issuer: https://l.example, "
                + "grant: token_exchange, exchange: { subject_token: env:T }, refresh_token: env:R",
            "refresh_token: the grant token_exchange does not use a refresh token"
        ),
    ])
    func `the keys required or unused by a grant are checked`(oauth: String, expected: String) {
        #expect(
            errors(inChannel: "auth: { oauth: { \(oauth) } }")
                == ["channels.a.auth.oauth.\(expected)"]
        )
    }

    @Test func `client_auth tls needs the channel's certificate`() {
        let oauth = "auth: { oauth: { \(base), client_auth: tls } }"
        #expect(
            errors(inChannel: oauth)
                == ["channels.a.tls.client_certificate: required for client_auth tls"]
        )
        let tls = "tls: { client_certificate: /c.pem, client_key: /k.pem }"
        #expect(errors(inChannel: "\(oauth)\n\(tls)").isEmpty)
    }

    @Test func `the key of token files is read`() throws {
        let channels = "channels: { a: { upstream: https://a.example } }"
        #expect(try load("state_key: cred:state\n\(channels)").stateKey == .credential("state"))
        #expect(try load(channels).stateKey == nil)
    }
}
