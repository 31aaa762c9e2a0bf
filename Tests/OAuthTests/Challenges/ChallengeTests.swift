import NetworkCore
import TestSupport
import Testing

@testable import OAuth

@Suite struct Challenges {
    @Test(arguments: [
        ("Bearer", [Challenge(scheme: "bearer")]),
        ("bEaReR", [Challenge(scheme: "bearer")]),
        ("Bearer, Basic", [Challenge(scheme: "bearer"), Challenge(scheme: "basic")]),
        (
            #"Bearer realm="a, b", error="invalid_token""#,
            [Challenge(scheme: "bearer", parameters: ["realm": "a, b", "error": "invalid_token"])]
        ),
        (
            #"Bearer Error = invalid_token"#,
            [Challenge(scheme: "bearer", parameters: ["error": "invalid_token"])]
        ),
        (
            #"Basic realm="x", Bearer error="invalid_token""#,
            [
                Challenge(scheme: "basic", parameters: ["realm": "x"]),
                Challenge(scheme: "bearer", parameters: ["error": "invalid_token"]),
            ]
        ),
        (
            #"Negotiate YII+/a==, Bearer realm="x""#,
            [
                Challenge(scheme: "negotiate", token68: "YII+/a=="),
                Challenge(scheme: "bearer", parameters: ["realm": "x"]),
            ]
        ),
        (
            #"Bearer realm="say \"hi\\\"""#,
            [Challenge(scheme: "bearer", parameters: ["realm": #"say "hi\""#])]
        ),
        (#", ,Bearer ,, Basic ,"#, [Challenge(scheme: "bearer"), Challenge(scheme: "basic")]),
        (
            #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
            [
                Challenge(
                    scheme: "newauth",
                    parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]
                ),
                Challenge(scheme: "basic", parameters: ["realm": "simple"]),
            ]
        ),
        (
            "Bearer realm=\"x\"\t,\terror=\"invalid_token\"",
            [Challenge(scheme: "bearer", parameters: ["realm": "x", "error": "invalid_token"])]
        ),
    ])
    func `a challenge is read by its grammar`(line: String, expected: [Challenge]) {
        #expect(ChallengeParser.parse(line) == expected)
    }

    @Test(arguments: [
        #"Bearer realm="open"#, #"Bearer realm=,x=1"#, #"Bearer error="a" error="b""#,
        #"Bearer error="a", error="b""#, #"Bearer realm="x"y"#, #"="x""#, #"Bearer realm=a b"#,
        #"Bearer "x""#, #"Bearer;error="invalid_token""#, #"Bearer realm="x\"#,
    ])
    func `a malformed line says nothing`(line: String) {
        #expect(ChallengeParser.parse(line) == nil)
    }

    @Test func `a malformed line does not hide the errors of the others`() {
        var headers: HTTPHeaders = [:]
        for line in [#"Basic realm="x"#, "Negotiate", #"Bearer error="invalid_token""#] {
            if let field = HTTPField(.wwwAuthenticate, line) { headers.append(field) }
        }
        #expect(ChallengeParser.errors(in: headers) == ["invalid_token"])
        #expect(ChallengeTriage.judge(headers) == .refused)
    }

    @Test func `invalid_token outweighs another bearer challenge`() {
        let headers: HTTPHeaders = [
            .wwwAuthenticate: #"Bearer error="insufficient_scope", Bearer error="invalid_token""#
        ]
        #expect(ChallengeTriage.judge(headers) == .refused)
    }

    /// Challenges of real APIs to an expired token, with the judgement.
    @Test(arguments: [
        (["OAuth realm='TwitchTV', error='invalid_token'"], ChallengeTriage.refused),
        ([#"OAuth realm="api.example.com""#], .suspected), (["Token"], .suspected),
        (["Negotiate", "NTLM"], .suspected), ([""], .suspected), ([" , ,"], .suspected),
        ([#"OAuth "Facebook Platform" "invalid_token" "expired""#], .suspected),
        (
            [
                "Bearer authorization_uri=https://login.example.com/1", #"Basic realm="x""#,
                "TFS-Federated",
            ], .suspected
        ),
        ([#"Bearer realm="caf\u{e9}\u{fffd}", error="invalid_token""#], .refused),
        ([#"Bearer realm="open, error="invalid_token"#], .suspected),
        ([#"Bearer error="invalid_token" error_description="no comma""#], .refused),
        ([#"Token error=invalid_token; scope=a b"#], .refused),
        ([#"Bearer realm=https://a.example/?error="insufficient_scope""#], .suspected),
        ([#"DPoP error="invalid_token""#], .refused),
        ([#"DPoP error="use_dpop_nonce""#], .suspected),
    ])
    func `the scheme of a challenge does not count`(
        lines: [String],
        expected: ChallengeTriage
    ) throws {
        #expect(ChallengeTriage.judge(try Self.headers(lines)) == expected)
    }

    @Test(arguments: [
        (
            [#"Basic realm="x""#, #"Bearer error="insufficient_scope""#],
            NotReplayed.insufficientScope
        ),
        ([#"Bearer realm="x", Bearer error="insufficient_scope""#], .insufficientScope),
        ([#"OAuth error="insufficient_scope""#], .insufficientScope),
        ([#"Bearer error="insufficient_scope" scope="a b""#], .insufficientScope),
        ([#"Token error='invalid_request', x"#], .invalidRequest),
        ([#"Bearer error=token_expired, Bearer error="invalid_request""#], .invalidRequest),
    ])
    func `a named fault outweighs challenges without one`(
        lines: [String],
        reason: NotReplayed
    ) throws {
        #expect(ChallengeTriage.judge(try Self.headers(lines)) == .passThrough(reason))
    }

    @Test(arguments: [
        (#"{"error":"insufficient_scope"}"#, ChallengeTriage.passThrough(.insufficientScope)),
        (#"{"error":"invalid_token"}"#, .refused), (#"{"error":"invalid_request"}"#, .suspected),
        (#"{"error":{"code":"insufficient_scope"}}"#, .suspected), ("{\"error\":", .suspected),
        ("insufficient_scope", .suspected),
    ])
    func `the content counts if no challenge names an error`(
        content: String,
        expected: ChallengeTriage
    ) throws {
        let content = ByteSlice(content)
        #expect(ChallengeTriage.judge([:], content: content) == expected)
        let basic = try Self.headers([#"Basic realm="x""#])
        #expect(ChallengeTriage.judge(basic, content: content) == expected)
        let named = try Self.headers([#"Bearer error="invalid_token""#])
        #expect(ChallengeTriage.judge(named, content: content) == .refused)
    }

    private static func headers(_ lines: [String]) throws -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        for line in lines {
            headers.append(try #require(HTTPField(.wwwAuthenticate, line.trimmed)))
        }
        return headers
    }

    @Test func `invalid_token outweighs a challenge without an error`() {
        let headers: HTTPHeaders = [
            .wwwAuthenticate: #"Bearer realm="x", Bearer error="invalid_token""#
        ]
        #expect(ChallengeTriage.judge(headers) == .refused)
    }
}

@Suite struct TokenDocuments {
    @Test(arguments: [
        ("3600", Duration.seconds(3600)), ("3600.5", .seconds(3600.5)),
        ("\"3600\"", .seconds(3600)),
        ("\"3600.0\"", .seconds(3600)), ("36e2", .seconds(3600)), ("0", .zero), ("-5", .zero),
        ("\"-5\"", .zero), ("1e300", .seconds(315_360_000)),
        ("99999999999999999999", .seconds(315_360_000)),
    ])
    func `expires_in is understood in its usual shapes`(json: String, lifetime: Duration) {
        let document = TokenDocument.parse(ByteSlice(#"{"expires_in":\#(json)}"#))
        #expect(document?.lifetime == lifetime)
    }

    @Test(arguments: [
        "null", "\"\"", "\"3600abc\"", "\"0x10\"", "\" 3600\"", "\"+5\"", "\"1e3\"", "\".5\"",
        "true", "[3600]", "{}", "\"soon\"", "\"٣\"",
    ])
    func `anything else is an unknown lifetime`(json: String) throws {
        let document = try #require(TokenDocument.parse(ByteSlice(#"{"expires_in":\#(json)}"#)))
        #expect(document.lifetime == nil)
    }

    @Test(arguments: ["", "null", "[]", "\"x\"", "{", "access_token=a&token_type=bearer"])
    func `content other than a JSON object is not a token response`(body: String) {
        #expect(TokenDocument.parse(ByteSlice(body)) == nil)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thursday, 29-Feb-24 12:00:00 GMT", 1_709_208_000),
        ("Thu Feb 29 12:00:00 2024", 1_709_208_000),
    ])
    func `an HTTP date is an instant`(text: String, seconds: Double) {
        #expect(RetryAfter.date(text) == UnixTime(secondsSinceEpoch: seconds))
    }

    @Test(arguments: [(26, 2026), (75, 2075), (77, 1977), (99, 1999)])
    func `a two-digit year is at most 50 years ahead`(digits: Int, year: Int) throws {
        let now = try #require(RetryAfter.date("Tue, 24 Nov 2026 00:00:00 GMT"))
        let short = RetryAfter.date("Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now)
        #expect(short == RetryAfter.date("Sun, 06 Nov \(year) 08:49:37 GMT"))
    }

    @Test(arguments: [
        "", "soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37", "06 Nov 1994",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49:37 1994",
        "Sun Nov  66 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Foo 16 08:49:37 1994",
    ])
    func `an invalid Retry-After is ignored`(text: String) {
        var headers: HTTPHeaders = [:]
        if let field = HTTPField(.retryAfter, text) { headers.append(field) }
        let now = UnixTime(secondsSinceEpoch: 0)
        #expect(RetryAfter.duration(in: headers, now: now) == nil)
    }
}

extension String {
    /// Without outer blanks, which no field value has.
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
