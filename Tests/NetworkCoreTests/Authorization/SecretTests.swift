import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct Secrets {
    private static let text = "s3cr3t-value"

    @Test(arguments: Showing.allCases)
    func `no text of a secret shows what it is`(_ showing: Showing) {
        let shown = showing.text(of: Secret(Secrets.text))
        #expect(!shown.contains(Secrets.text))
        #expect(shown.contains("<redacted>"))
    }

    @Test(arguments: Showing.allCases)
    func `nor does the text of what holds it`(_ showing: Showing) throws {
        let secret = Secret(Secrets.text)
        var configuration = OAuthHarness.configuration(.refreshToken(initial: secret))
        configuration.clientSecret = secret
        let holders: [Any] = [
            [secret], ["key": secret], (1, secret), Optional(secret) as Any,
            Credential(.authorization, secret) as Any,
            try StaticAuthorizer.header("X-Api-Key", secret),
            try StaticAuthorizer.bearer(secret), configuration,
            TokenResponse(accessToken: secret, refreshToken: secret),
            TokenGrant.refreshToken(secret),
        ]
        for holder in holders {
            #expect(!showing.text(of: holder).contains(Secrets.text), "\(type(of: holder))")
        }
    }

    @Test func `a mirror of a secret has no children`() {
        #expect(Mirror(reflecting: Secret(Secrets.text)).children.isEmpty)
    }

    @Test func `a secret is revealed on request only`() {
        #expect(Secret(Secrets.text).reveal() == Secrets.text)
    }

    @Test(arguments: [
        ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "A", false), ("a", "", false),
        ("ab", "abc", false), ("xbc", "abc", false), ("abx", "abc", false), ("ä", "ä", true),
        // The same to a reader, but not the same bytes.
        ("\u{E4}", "a\u{308}", false), ("\u{212B}", "\u{C5}", false),
    ])
    func `secrets are equal byte for byte`(_ left: String, _ right: String, _ isEqual: Bool) {
        #expect((Secret(left) == Secret(right)) == isEqual)
        #expect((Secret(right) == Secret(left)) == isEqual)
    }
}

@Suite struct StaticCredentials {
    @Test func `bearer is the scheme and the token`() throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("token"))
        let credential = authorizer.credential(until: nil)
        #expect(authorizer.kind == "bearer")
        #expect(credential.name == .authorization)
        #expect(credential.value.reveal() == "Bearer token")
        #expect(credential.generation == nil)
    }

    @Test(arguments: [
        ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("", "", "Og=="),
        ("test", "123\u{A3}", "dGVzdDoxMjPCow=="), ("user", "a:b", "dXNlcjphOmI="),
    ])
    func `basic is the pair in base64`(
        _ name: String,
        _ password: String,
        _ encoded: String
    ) throws {
        let authorizer = try StaticAuthorizer.basic(
            username: name,
            password: Secret(password)
        )
        let credential = authorizer.credential(until: nil)
        #expect(authorizer.kind == "basic")
        #expect(credential.name == .authorization)
        #expect(credential.value.reveal() == "Basic \(encoded)")
    }

    @Test func `a field of the API's own carries the value as it is`() throws {
        let authorizer = try StaticAuthorizer.header("X-Api-Key", Secret("k e/y"))
        let credential = authorizer.credential(until: nil)
        #expect(authorizer.kind == "header")
        #expect(credential.name == "X-Api-Key")
        #expect(credential.value.reveal() == "k e/y")
    }

    @Test func `a rejected one is not tried again`() async throws {
        let upstream = Upstream.accepting { _ in false }
        let authorizer = try StaticAuthorizer.bearer(Secret("token"))
        let (response, context) = try await RequestChain.authorized(by: authorizer, upstream)
            .exchange()
        #expect(response.status == 401)
        #expect(upstream.arrived.map(\.token) == ["Bearer token"])
        #expect(context.authorization?.kind == "bearer")
        #expect(context.authorization?.notReplayed?.rawValue == "static_credential")
    }

    @Test(arguments: ["to\r\nken", "to\u{0}ken", "token\n", ""])
    func `one that no field may hold is refused, and not shown`(_ token: String) {
        for make in [
            { try StaticAuthorizer.bearer(Secret(token)) },
            { try StaticAuthorizer.header("X-Api-Key", Secret(token)) },
        ] {
            let error = #expect(throws: NetworkError.self) { try make() }
            #expect(error?.kind == .credentialUnavailable)
            #expect(error?.detail.contains("unfit for a header field") == true)
            #expect(token.isEmpty || error?.detail.contains(token) == false)
        }
    }
}

/// The ways in which a value becomes text.
enum Showing: CaseIterable {
    case description, debugDescription, reflection, interpolation, dump

    func text(of value: Any) -> String {
        switch self {
        case .description: return String(describing: value)
        case .debugDescription:
            return (value as? any CustomDebugStringConvertible)?.debugDescription
                ?? String(reflecting: value)
        case .reflection: return String(reflecting: value)
        case .interpolation: return "\(value)"
        case .dump:
            var text = ""
            Swift.dump(value, to: &text)
            return text
        }
    }
}
