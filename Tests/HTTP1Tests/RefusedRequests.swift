import NetproxyHTTP1

/// Requests that must be refused, with the reason.
enum RefusedRequests {
    static let all = requestLines + targets + lines + names + lengths + codings + routing + others

    private static func get(_ line: String) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n"
    }
    private static func at(_ target: String, method: String = "GET", host: String = "a") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n"
    }
    private static func line(_ line: String) -> String { "\(line)\r\nHost: a\r\n\r\n" }

    private static let requestLines: [Case<HTTP1Error>] = [
        Case("two spaces behind the method", line("GET  / HTTP/1.1"), .malformedRequestLine),
        Case("two spaces before the version", line("GET /  HTTP/1.1"), .malformedRequestLine),
        Case("a space in the target", line("GET /a b HTTP/1.1"), .malformedRequestLine),
        Case("a space behind the version", line("GET / HTTP/1.1 "), .malformedRequestLine),
        Case("a leading space", line(" GET / HTTP/1.1"), .malformedRequestLine),
        Case("a tab for a space", line("GET\t/ HTTP/1.1"), .malformedRequestLine),
        Case("no version", line("GET /"), .malformedRequestLine),
        Case("no target", line("GET HTTP/1.1"), .malformedRequestLine),
        Case("one word", line("GET"), .malformedRequestLine),
        Case("an empty method", line("/ / HTTP/1.1"), .malformedRequestLine),
        Case("a method that is no token", line("G(T / HTTP/1.1"), .malformedRequestLine),
        Case("a lower-case version", line("GET / http/1.1"), .malformedRequestLine),
        Case("a two-digit version", line("GET / HTTP/1.10"), .malformedRequestLine),
        Case("a signed version", line("GET / HTTP/+1.1"), .malformedRequestLine),
        Case("a version without minor", line("GET / HTTP/1"), .malformedRequestLine),
        Case("another protocol", line("GET / RTSP/1.0"), .malformedRequestLine),
        Case(
            "two empty lines in front",
            "\r\n\r\n" + line("GET / HTTP/1.1"),
            .malformedRequestLine
        ),
        Case("HTTP/1.9", line("GET / HTTP/1.9"), .unsupportedVersion),
        Case("HTTP/1.2", line("GET / HTTP/1.2"), .unsupportedVersion),
        Case("HTTP/2.0", line("GET / HTTP/2.0"), .unsupportedVersion),
        Case("HTTP/0.9", line("GET / HTTP/0.9"), .unsupportedVersion),
        Case("the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
    ]

    private static let targets: [Case<HTTP1Error>] = [
        Case("no leading slash", at("a"), .unsuitableTarget),
        Case("a fragment", at("/a#b"), .malformedTarget),
        Case("an encoded NUL", at("/a%00b"), .malformedTarget),
        Case("an encoded NUL in the query", at("/a?b=%00"), .malformedTarget),
        Case("a cut escape", at("/a%2"), .malformedTarget),
        Case("a lone percent sign", at("/100%?b"), .malformedTarget),
        Case("an escape without hex digits", at("/%zz"), .malformedTarget),
        Case("a byte beyond ASCII", at("/\u{E9}"), .malformedTarget),
        Case("* without OPTIONS", at("*"), .unsuitableTarget),
        Case("two stars", at("**", method: "OPTIONS"), .unsuitableTarget),
        Case("authority-form without CONNECT", at("a:80"), .unsuitableTarget),
        Case("CONNECT with a path", at("/", method: "CONNECT"), .unsuitableTarget),
        Case("CONNECT without a port", at("a", method: "CONNECT"), .unsuitableTarget),
        Case("another scheme", at("ftp://a/"), .unsuitableTarget),
        Case("a scheme with one slash", at("http:/a/"), .unsuitableTarget),
        Case("no authority", at("http:///x"), .unsuitableTarget),
        Case("userinfo", at("http://me@a/"), .unsuitableTarget),
        Case("userinfo with a password", at("http://a:b@a/"), .unsuitableTarget),
    ]

    private static let lines: [Case<HTTP1Error>] = [
        Case("LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed),
        Case("LF behind a field", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", .bareLineFeed),
        Case("LF for the last line", "GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
        Case("LF in front", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareLineFeed),
        Case("CR in a value", get("X: a\rb"), .bareCarriageReturn),
        Case("CR CR LF", get("X: a\r"), .bareCarriageReturn),
        Case("CR in the request line", line("GET /\r HTTP/1.1"), .bareCarriageReturn),
        Case("NUL in a value", get("X: a\0b"), .controlByte),
        Case("NUL in a name", get("X\0: a"), .controlByte),
        Case("DEL in a value", get("X: a\u{7F}"), .controlByte),
        Case("ESC in a value", get("X: \u{1B}[2J"), .controlByte),
        Case("a vertical tab in a value", get("X: a\u{B}b"), .controlByte),
        Case("a TLS hello", "\u{16}\u{3}\u{1}\u{2}", .encryptedRequest),
        Case("a folded line", get("X: a\r\n b"), .foldedLine),
        Case("a line folded with a tab", get("X: a\r\n\tb"), .foldedLine),
        Case(
            "white space before the first field",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            .foldedLine
        ),
        Case("a line of one space", get(" "), .foldedLine),
    ]

    private static let names: [Case<HTTP1Error>] = [
        Case("a space before the colon", get("X : a"), .spaceBeforeColon),
        Case("a tab before the colon", get("X\t: a"), .spaceBeforeColon),
        Case("Content-Length with a space", get("Content-Length : 5"), .spaceBeforeColon),
        Case("an empty name", get(": a"), .malformedFieldName),
        Case("no colon", get("Xa"), .malformedFieldName),
        Case("a name that is no token", get("X(A: a"), .malformedFieldName),
        Case("a name beyond ASCII", get("\u{C4}: a"), .malformedFieldName),
        Case("a quoted name", get("\"X\": a"), .malformedFieldName),
    ]

    private static let lengths: [Case<HTTP1Error>] = [
        Case("an empty length", get("Content-Length:"), .malformedContentLength),
        Case("a plus", get("Content-Length: +5"), .malformedContentLength),
        Case("a minus", get("Content-Length: -0"), .malformedContentLength),
        Case("a list", get("Content-Length: 5, 5"), .malformedContentLength),
        Case("an inner space", get("Content-Length: 5 5"), .malformedContentLength),
        Case("hex", get("Content-Length: 0x5"), .malformedContentLength),
        Case("a fraction", get("Content-Length: 5.0"), .malformedContentLength),
        Case("19 digits", get("Content-Length: 1000000000000000000"), .malformedContentLength),
        Case("two lengths", get("Content-Length: 5\r\nContent-Length: 3"), .repeatedContentLength),
        Case(
            "one length twice",
            get("content-length: 5\r\nContent-Length: 5"),
            .repeatedContentLength
        ),
    ]

    private static let codings: [Case<HTTP1Error>] = [
        Case(
            "length and chunked",
            get("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            .conflictingFraming
        ),
        Case(
            "chunked and length",
            get("Transfer-Encoding: chunked\r\nContent-Length: 0"),
            .conflictingFraming
        ),
        Case(
            "chunked twice",
            get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            .repeatedTransferEncoding
        ),
        Case(
            "chunked in a list twice",
            get("Transfer-Encoding: chunked, chunked"),
            .malformedTransferEncoding
        ),
        Case("chunked first", get("Transfer-Encoding: chunked, gzip"), .malformedTransferEncoding),
        Case(
            "chunked with a parameter",
            get("Transfer-Encoding: chunked;q=1"),
            .malformedTransferEncoding
        ),
        Case(
            "chunked in quotes",
            get("Transfer-Encoding: \"chunked\""),
            .malformedTransferEncoding
        ),
        Case("chunked with a vertical tab", get("Transfer-Encoding: \u{B}chunked"), .controlByte),
        Case("chunked and a comma", get("Transfer-Encoding: chunked,"), .malformedTransferEncoding),
        Case("an empty coding", get("Transfer-Encoding:"), .malformedTransferEncoding),
        Case("gzip", get("Transfer-Encoding: gzip"), .unsupportedTransferEncoding),
        Case(
            "gzip, then chunked",
            get("Transfer-Encoding: gzip, chunked"),
            .unsupportedTransferEncoding
        ),
        Case("identity", get("Transfer-Encoding: identity"), .unsupportedTransferEncoding),
        Case("xchunked", get("Transfer-Encoding: xchunked"), .unsupportedTransferEncoding),
        Case(
            "chunked in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            .transferEncodingInHTTP10
        ),
    ]

    private static let routing: [Case<HTTP1Error>] = [
        Case("no Host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", .missingHost),
        Case("no field at all", "GET / HTTP/1.1\r\n\r\n", .missingHost),
        Case("two Hosts", get("Host: b"), .repeatedHost),
        Case("one Host twice", get("host: a"), .repeatedHost),
        Case(
            "two Hosts in HTTP/1.0",
            "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
            .repeatedHost
        ),
        Case("an empty Host", at("/", host: ""), .malformedHost),
        Case("userinfo in Host", at("/", host: "me@a"), .malformedHost),
        Case("a list of Hosts", at("/", host: "a, b"), .malformedHost),
        Case("a path in Host", at("/", host: "a/b"), .malformedHost),
        Case("an empty port", at("/", host: "a:"), .malformedHost),
        Case("a port too large", at("/", host: "a:65536"), .malformedHost),
        Case("an open bracket", at("/", host: "[::1"), .malformedHost),
        Case("another Host than the target's", at("http://b/"), .hostMismatch),
        Case("another port than the target's", at("http://a:81/"), .hostMismatch),
        Case("the other scheme's port", at("https://a/", host: "a:80"), .hostMismatch),
    ]

    private static let others: [Case<HTTP1Error>] = [
        Case("a Connection that is no list", get("Connection: close; x"), .malformedConnection),
        Case("a Connection with two words", get("Connection: keep alive"), .malformedConnection),
        Case("another expectation", get("Expect: 200-ok"), .unsupportedExpectation),
        Case("an expectation and more", get("Expect: 100-continue, x"), .unsupportedExpectation),
        Case("an empty expectation", get("Expect:"), .unsupportedExpectation),
        Case(
            "an expectation twice",
            get("Expect: 100-continue\r\nExpect: 100-continue"),
            .unsupportedExpectation
        ),
    ]
}
