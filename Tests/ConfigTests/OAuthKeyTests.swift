import NetproxyConfig
import NetproxyHTTPMessage
import NetproxySettings
import Testing

/// Tests of the keys of grants and of client authentication.
@Suite struct OAuthKeyTests {
    private let base = "client_id: a, issuer: https://login.example"

    private func settings(_ oauth: String) throws -> OAuthSettings {
        let credential = try channel("auth: { oauth: { \(oauth) } }").credentials.first
        guard let settings = credential?.oauth else { throw Missing() }
        return settings
    }

    private struct Missing: Error {}

    @Test func `an issuer is kept byte for byte`() throws {
        let text = "HTTPS://Login.Example:443/tenant/"
        let settings = try settings("client_id: a, client_auth: none, issuer: '\(text)'")
        #expect(settings.issuer == text)
        #expect(settings.tokenURL == nil)
    }

    @Test func `resources are kept byte for byte`() throws {
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

    @Test func `a client key has an id and an audience`() throws {
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
        #expect(settings.clientAuthentication == ClientAuthentication.none)
        #expect(settings.assertion?.signer == .serviceAccount(.file("/account.json")))
    }

    private static let app = "grant: github_app, client_id: Iv1, client_key: { key: 'file:/k' }"

    @Test func `an installation has GitHub's endpoint by default, and may be limited`() throws {
        let plain = try settings("\(Self.app), installation: 77")
        #expect(plain.clientAuthentication == .privateKeyJWT)
        #expect(plain.clientKey?.key == .file("/k"))
        #expect(
            plain.tokenURL.map { "\($0.origin)\($0.target)" }
                == "https://api.github.com/app/installations/77/access_tokens"
        )
        #expect(plain.installation == .init(id: "77", repositories: [], permissions: []))
        let limited = try settings(
            "\(Self.app), installation: '77', repositories: [a, b.c], "
                + "permissions: { contents: read, issues: write }, token_url: https://ghe.example/t"
        )
        #expect(limited.tokenURL?.origin.host == "ghe.example")
        #expect(limited.installation?.repositories == ["a", "b.c"])
        #expect(
            limited.installation?.permissions == [
                .init(name: "contents", access: .read), .init(name: "issues", access: .write),
            ]
        )
    }

    @Test(arguments: [
        ("", "installation: required for the grant github_app"),
        ("installation: x1", "installation: expected the number of an installation"),
        (
            "installation: 1, repositories: [a/b]",
            "repositories[0]: expected the name of a repository"
        ),
        ("installation: 1, permissions: [a]", "permissions: expected a map"),
        (
            "installation: 1, permissions: { a: all }",
            "permissions.a: expected read, write or admin"
        ),
        ("installation: 1, scopes: [a]", "scopes: the grant github_app does not use scopes"),
        ("installation: 1, client_auth: basic", "client_auth: the grant github_app does not use"),
        ("installation: 1, issuer: https://i", "issuer: the grant github_app does not use issuer"),
    ])
    func `the keys of an installation are checked`(more: String, expected: String) {
        let comma = more.isEmpty ? "" : ", "
        let lines = errors(inChannel: "auth: { oauth: { \(Self.app)\(comma)\(more) } }")
        #expect(lines.count == 1 && lines[0].contains("auth.oauth.\(expected)"), "\(lines)")
        let other = errors(
            inChannel: "auth: { oauth: { \(base), client_auth: none, installation: 1 } }"
        )
        #expect(other.count == 1 && other[0].contains("used only by the grant github_app"))
    }

    @Test func `a shared installation is limited only in its identity`() {
        let found = errors(
            in: """
                identities: { app: { oauth: { \(Self.app), installation: 7 } } }
                channels:
                  a: { upstream: 'https://a.example', auth: { identity: app, scopes: [a] } }
                """
        )
        #expect(
            found.count == 1 && found[0].contains("auth.scopes: the identity app has the grant")
        )
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

    @Test func `state_key accepts one key or a list`() throws {
        let channels = "channels: { a: { upstream: https://a.example } }"
        #expect(try load("state_key: cred:state\n\(channels)").stateKeys == [.credential("state")])
        let two = try load("state_key: [cred:new, file:/old]\n\(channels)").stateKeys
        #expect(two == [.credential("new"), .file("/old")])
        #expect(try load(channels).stateKeys == [])
    }

    @Test func `an extension grant has a type, and its parameters may be secrets`() throws {
        let settings = try settings(
            """
            grant: extension, grant_type: 'urn:ibm:params:oauth:grant-type:apikey', client_id: a,
                client_auth: none, token_url: https://l.example/t,
                parameters: { account_id: acc, apikey: 'literal:c4nary', code: x }
            """
        )
        #expect(settings.grant == .byName)
        #expect(settings.grantExtension?.type == "urn:ibm:params:oauth:grant-type:apikey")
        #expect(settings.grantExtension?.secrets.map(\.name) == ["apikey"])
        #expect(settings.parameters.map(\.name) == ["account_id", "code"])
    }

    @Test func `a grant type without a grant is an extension`() throws {
        let settings = try settings("\(base), client_auth: none, grant_type: account_credentials")
        #expect(settings.grant == .byName)
    }

    @Test(arguments: [
        ("grant: extension", "grant_type: required for the grant extension"),
        (
            "grant: extension, grant_type: refresh_token",
            "grant_type: expected a grant type that no"
        ),
        ("grant: refresh_token, grant_type: x", "grant_type: used only by the grant extension"),
        (
            "grant_type: x, parameters: { grant_type: y }",
            "parameters.grant_type: netproxy sets grant_type itself"
        ),
        (
            "authorization_parameters: { state: y }",
            "authorization_parameters.state: netproxy sets state itself"
        ),
        ("use: refresh_token", "use: expected access_token or id_token"),
        ("use: id_token, dpop_key: 'literal:x'", "dpop_key: an ID token cannot be bound to a key"),
        ("token_headers: { Host: x }", "token_headers.Host: netproxy sets Host itself"),
        ("token_headers: { Content-Type: x }", "token_headers.Content-Type: netproxy sets"),
    ])
    func `an OAuth key without effect is an error`(keys: String, message: String) {
        let lines = errors(
            inChannel: "auth: { oauth: { \(base), client_auth: none, \(keys) } }"
        )
        #expect(lines.contains { $0.contains("auth.oauth.\(message)") }, "\(lines)")
    }

    @Test func `fields of token requests are texts or secrets`() throws {
        let settings = try settings(
            "\(base), client_auth: none, token_headers: { X-Key: 'env:K', User-Agent: a/1 }"
        )
        let shown = settings.tokenFields.map { field in
            switch field {
            case .text(let field): "\(field.name)=\(field.value)"
            case .secret(let field): "\(field.name)=\(field.value.text)"
            }
        }
        #expect(shown == ["X-Key=env:K", "User-Agent=a/1"])
    }

    @Test func `Authorization may be set if the client has no Basic credential`() throws {
        let key = "token_headers: { Authorization: 'Token x' }"
        #expect(try settings("\(base), client_auth: none, \(key)").tokenFields.count == 1)
        let lines = errors(
            inChannel: "auth: { oauth: { \(base), client_secret: 'literal:x', \(key) } }"
        )
        #expect(lines.count == 1)
    }

    @Test func `the sign-in page has its own parameters`() throws {
        let settings = try settings(
            "\(base), client_auth: none, authorization_parameters: { access_type: offline }"
        )
        #expect(settings.parameters.isEmpty)
        #expect(settings.authorizationParameters.map(\.value) == ["offline"])
    }

    @Test func `other responses may count as refusals`() throws {
        let retry = try channel("retry: { unauthorized: { status: [401, 403], body: gone } }").retry
        #expect(retry.unauthorized)
        #expect(retry.refusals.status == [403])
        #expect(retry.refusals.body == "gone")
        #expect(try !channel("retry: { unauthorized: false }").retry.unauthorized)
        let plain = try channel("retry: { unauthorized: true }").retry.refusals
        #expect(plain.status.isEmpty && plain.body == nil)
    }

    @Test(arguments: [
        ("{ status: [200] }", "status"), ("{ status: [600] }", "status"), ("{ body: x }", "status"),
        ("{ status: 401, body: x }", "status"), ("{ code: 403 }", "code"), ("maybe", ""),
    ])
    func `a response that cannot be a refusal is an error`(value: String, key: String) {
        let lines = errors(inChannel: "retry: { unauthorized: \(value) }")
        let place = "channels.a.retry.unauthorized" + (key.isEmpty ? ":" : ".\(key)")
        #expect(lines.first?.hasPrefix(place) == true, "\(lines)")
    }
}
