import NetproxyHTTPMessage
import NetproxyRequestLog
import NetproxySettings
import NetworkCore
import Testing

@Suite struct RedactionTests {
    @Test(
        arguments: [
            (.keys, "a=1&b=two&c", "a,b,c"),
            (.keys, "a%20b=1&%3d=%26", "a%20b,%3d"),
            (.keys, "", ""),
            // A possible token, not the name of one.
            (.keys, "eyJhbGciOiJSUzI1NiJ9.x&b=1", "<redacted>,b"),
            (.keys, "q=\"x\"", "q"),
            (.full, "a=1&b=two&c", "a=1&b=two&c"),
            (
                .full, "q=%22&access_token=abc&API_KEY=x=y&n=",
                "q=%22&access_token=<redacted>&API_KEY=<redacted>&n="
            ),
            (
                .full, "%61ccess%5Ftoken=abc&private_token=d&subject_token=e&%zz=1",
                "%61ccess%5Ftoken=<redacted>&private_token=<redacted>&subject_token=<redacted>&%zz=1"
            ),
            (.off, "a=1", nil),
        ] as [(QueryMode, String, String?)]
    )
    func `a query is shown according to the mode`(mode: QueryMode, query: String, text: String?)
        throws
    {
        var record = Samples.minimal()
        record.target += "?\(query)"
        let line = Samples.line(record, LogLabels(query: mode))
        let parsed = try #require(Samples.parsed(line))
        #expect(parsed["query"]?.text == text)
    }

    @Test(arguments: [
        ("aws_secret_access_key = s3cret", "aws_secret_access_key = <redacted>"),
        ("aws_session_token=s3cret== left", "aws_session_token=<redacted> left"),
        ("x: aws_secret_access_key=s3cret, b=1", "x: aws_secret_access_key=<redacted>, b=1"),
        (
            #"{"SecretAccessKey": "s3cret","Version":1}"#,
            #"{"SecretAccessKey": "<redacted>","Version":1}"#
        ),
        ("SecretAccessKey: s3cret", "SecretAccessKey: <redacted>"),
        ("token=s3cret", "token=<redacted>"), ("session_token=", "session_token="),
        ("error: ExpiredToken: the token: has ended", "error: ExpiredToken: the token: has ended"),
        ("region = eu-west-1", "region = eu-west-1"), ("", ""), ("=", "="),
    ])
    func `the output of a program is shown without its secrets`(line: String, shown: String) {
        #expect(Redaction.standard.assignments(in: line) == shown)
        #expect(Redaction.standard.foreign(line) == shown)
    }

    @Test(arguments: [
        ("fatal: https://me:s3cret@host/x failed", "fatal: https://<redacted>@host/x failed"),
        ("curl -H 'Authorization: Bearer s3cret' x", "curl -H 'Authorization: <redacted>' x"),
        ("> X-Api-Key: s3cret\n> Host: a", "> X-Api-Key: <redacted>\n> Host: a"),
        ("sent Bearer s3cret-0123456 to a", "sent Bearer <redacted> to a"),
        ("Basic dXNlcjpzZWNyZXQ+/=, x", "Basic <redacted>, x"),
        ("bearer token is missing", "bearer token is missing"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl.", "got <redacted>"),
        ("key sk-proj-Ab12Cd34Ef56 is invalid", "key <redacted> is invalid"),
        ("(ghp_16C7e42F292c6912E7710c838347Ae178B4a)", "(<redacted>)"),
        ("xoxb-123456789012-abc", "<redacted>"), ("AKIAIOSFODNN7EXAMPLE", "<redacted>"),
        ("sk-learn-something is no key", "sk-learn-something is no key"),
        (
            "a -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- b", "a <redacted> b"
        ),
        ("x -----BEGIN RSA PRIVATE KEY-----\nMIIE", "x <redacted>"),
        ("invalid_grant: the token has expired", "invalid_grant: the token has expired"),
        ("no such host: api.example.com:443", "no such host: api.example.com:443"),
    ])
    func `text of others is shown without the forms in which programs print secrets`(
        text: String,
        shown: String
    ) {
        #expect(Redaction.standard.foreign(text) == shown)
    }

    @Test(
        arguments: [
            ("X-Subject-Token", true), ("X-Figma-Token", true), ("X-Accesstoken", true),
            ("X-Customer-Key", true), ("X-Auth-Email", true), ("X-Client-Secret-Id", true),
            ("X-Hub-Signature-256", true), ("X_Service_Password", true), ("Idempotency-Key", false),
            ("Sec-WebSocket-Key", false), ("Surrogate-Key", false),
            ("X-RateLimit-Remaining-Tokens", false),
            ("Content-Type", false), ("WWW-Authenticate", false), ("X-Author", false),
            ("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", false), ("X-Request-Id", false),
        ] as [(HTTPFieldName, Bool)]
    )
    func `a field is recognized as a credential by the words in its name`(
        name: HTTPFieldName,
        isHidden: Bool
    ) {
        #expect(Redaction.standard.hides(name) == isHidden)
    }

    @Test(arguments: [
        "Authorization", "proxy-authorization", "Cookie", "Set-Cookie", "x-api-key",
        "X-Channel-Key", "DPoP", "X-Goog-Api-Key", "private-token",
    ])
    func `a credential is redacted even if its field is shown`(name: String) throws {
        let name = try #require(HTTPFieldName(name))
        var record = Samples.minimal()
        record.headers = [HTTPField(name, "s3cret")].compactMap { $0 }
        record.responseHeaders = record.headers
        let line = Samples.line(
            record,
            LogLabels(headers: [name], credentialFields: ["x-channel-key"])
        )
        #expect(!line.contains("s3cret"))
        let parsed = try #require(Samples.parsed(line))
        #expect(parsed["headers"]?[name.text.lowercased()]?.text == "<redacted>")
    }

    @Test(arguments: [
        ("Location", "/cb?code=abc&state=1", "/cb?code=<redacted>&state=1"),
        (
            "Referer", "https://a/b?x=1#access_token=abc&y=?token=d",
            "https://a/b?x=1#access_token=<redacted>&y=?token=<redacted>"
        ),
        ("Location", "https://a/code=b?", "https://a/code=b?"),
        (
            "Link", "<https://a/?access_token=abc&page=2>; rel=next, <https://a/?token=d>; rel=up",
            "<https://a/?access_token=<redacted>&page=2>; rel=next, <https://a/?token=<redacted>"
        ),
        ("Refresh", "0; url=https://a/?code=abc", "0; url=https://a/?code=<redacted>"),
        ("Location", "https://me:pa&ss@a/?x=1@b", "https://<redacted>@a/?x=1@b"),
        ("Location", "//token@a/b//c@d", "//<redacted>@a/b//c@d"),
        ("Link", "<http://u:p@q@a>; rel=up, </b@c>", "<http://<redacted>@a>; rel=up, </b@c>"),
        ("Content-Location", "/a?token=b&page=2", "/a?token=<redacted>&page=2"),
        ("X-Other", "/cb?code=abc", "/cb?code=abc"),
    ])
    func `a URL in a named field is shown without credentials`(
        name: String,
        value: String,
        text: String
    ) throws {
        let name = try #require(HTTPFieldName(name))
        var record = Samples.minimal()
        record.responseHeaders = [HTTPField(name, value)].compactMap { $0 }
        let parsed = Samples.parsed(Samples.line(record, LogLabels(headers: [name])))
        #expect(parsed?["response_headers"]?[name.text.lowercased()]?.text == text)
    }

    @Test func `each URL of a repeated field is shown without credentials`() {
        var record = Samples.minimal()
        record.responseHeaders = [
            HTTPField("Link", "<https://a/?page=2>"), HTTPField("Link", "<https://a/?token=b>"),
        ].compactMap { $0 }
        let parsed = Samples.parsed(Samples.line(record, LogLabels(headers: ["link"])))
        let expected = "<https://a/?page=2>, <https://a/?token=<redacted>"
        #expect(parsed?["response_headers"]?["link"]?.text == expected)
    }

    @Test func `named fields are joined by lower-case name, and others omitted`() throws {
        var record = Samples.minimal()
        record.headers = [
            HTTPField("Accept", "a"), HTTPField("X-Other", "hidden"), HTTPField("accept", "b"),
        ].compactMap { $0 }
        let line = Samples.line(record, LogLabels(headers: ["accept"]))
        #expect(line.hasSuffix(#","headers":{"accept":"a, b"}}"# + "\n"))
    }

    @Test func `no headers key is written if no field may be shown`() {
        var record = Samples.minimal()
        record.headers = [HTTPField("Accept", "a")].compactMap { $0 }
        #expect(!Samples.line(record).contains("headers"))
    }
}
