import NetworkCore
import OAuth
import TestSupport
import Testing

@Suite struct Secrets {
    private static let text = "s3cr3t-value"

    @Test(arguments: Showing.allCases)
    func `no description of a secret reveals it`(_ showing: Showing) {
        let shown = showing.text(of: Secret(Secrets.text))
        #expect(!shown.contains(Secrets.text))
        #expect(shown.contains("<redacted>"))
    }

    @Test(arguments: Showing.allCases)
    func `no description of a value that contains a secret reveals it`(_ showing: Showing) throws {
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

    @Test func `the mirror of a secret has no children`() {
        #expect(Mirror(reflecting: Secret(Secrets.text)).children.isEmpty)
    }

    @Test func `reveal returns the value of a secret`() {
        #expect(Secret(Secrets.text).reveal() == Secrets.text)
    }

    @Test(arguments: [
        ("", "", true), ("a", "a", true), ("a", "b", false), ("a", "A", false), ("a", "", false),
        ("ab", "abc", false), ("xbc", "abc", false), ("abx", "abc", false), ("ä", "ä", true),
        // Canonically equivalent strings with different bytes.
        ("\u{E4}", "a\u{308}", false), ("\u{212B}", "\u{C5}", false),
    ])
    func `secrets are compared byte by byte`(_ left: String, _ right: String, _ isEqual: Bool) {
        #expect((Secret(left) == Secret(right)) == isEqual)
        #expect((Secret(right) == Secret(left)) == isEqual)
    }
}

@Suite struct StaticCredentials {
    @Test func `a bearer credential is the scheme and the token`() throws {
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
    func `a basic credential is the base64 of the username and the password`(
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

    @Test func `a credential in a custom field is the unchanged value`() throws {
        let authorizer = try StaticAuthorizer.header("X-Api-Key", Secret("k e/y"))
        let credential = authorizer.credential(until: nil)
        #expect(authorizer.kind == "header")
        #expect(credential.name == "X-Api-Key")
        #expect(credential.value.reveal() == "k e/y")
    }

    @Test func `a rejected static credential is not sent again`() async throws {
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
    func `a credential that does not fit a field is refused and not shown`(_ token: String) {
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

/// The ways to convert a value to text.
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
