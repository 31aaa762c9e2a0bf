import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct ResponseHeadDecoderTests {
    private static func ok(_ line: String) -> String { "HTTP/1.1 200 OK\r\n\(line)\r\n\r\n" }

    private static let refused: [Case<HTTP1Error>] = [
        Case("a lower-case version", "http/1.1 200 OK\r\n\r\n", .malformedStatusLine),
        Case("HTTP/2", "HTTP/2 200\r\n\r\n", .malformedStatusLine),
        Case("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion),
        Case("two digits", "HTTP/1.1 20 OK\r\n\r\n", .malformedStatusLine),
        Case("four digits", "HTTP/1.1 2000 OK\r\n\r\n", .malformedStatusLine),
        Case("below 100", "HTTP/1.1 099 OK\r\n\r\n", .malformedStatusLine),
        Case("two spaces", "HTTP/1.1  200 OK\r\n\r\n", .malformedStatusLine),
        Case("a sign", "HTTP/1.1 +20 OK\r\n\r\n", .malformedStatusLine),
        Case("no status", "HTTP/1.1\r\n\r\n", .malformedStatusLine),
        Case("ICY", "ICY 200 OK\r\n\r\n", .malformedStatusLine),
        Case("an empty line in front", "\r\nHTTP/1.1 200 OK\r\n\r\n", .malformedStatusLine),
        Case("LF", "HTTP/1.1 200 OK\nX: a\r\n\r\n", .bareLineFeed),
        Case("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", .controlByte),
        Case("CR in a value", ok("X: a\rSet-Cookie: b"), .bareCarriageReturn),
        Case("a fold of the status line", ok(" X: a"), .foldedLine),
        Case("a space in a name", ok("Content Length: 5"), .spaceBeforeColon),
        Case("two lengths", ok("Content-Length: 5\r\nContent-Length: 6"), .repeatedContentLength),
        Case("a list of lengths", ok("Content-Length: 5,6"), .malformedContentLength),
        Case(
            "length and chunked",
            ok("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            .conflictingFraming
        ),
        Case("gzip, chunked", ok("Transfer-Encoding: gzip, chunked"), .unsupportedTransferEncoding),
        Case(
            "chunked twice",
            ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            .repeatedTransferEncoding
        ),
        Case(
            "chunked in HTTP/1.0",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            .transferEncodingInHTTP10
        ),
        Case(
            "conflicting framing of 304",
            "HTTP/1.1 304 x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            .repeatedContentLength
        ),
        Case(
            "content behind 100",
            "HTTP/1.1 100 x\r\nContent-Length: 5\r\n\r\n",
            .framedInterimResponse
        ),
        Case(
            "chunks behind 103",
            "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n",
            .framedInterimResponse
        ),
        Case(
            "chunks behind 101",
            "HTTP/1.1 101 x\r\nTransfer-Encoding: chunked\r\n\r\n",
            .framedInterimResponse
        ),
    ]

    @Test(arguments: refused)
    func `a malformed response is refused for the same reason regardless of the cut`(
        _ response: Case<HTTP1Error>
    ) {
        for cuts in Replay.cuts(of: response.bytes) {
            let outcome = Replay.response(response.bytes, at: cuts, HTTP1Limits(), answering: .get)
            #expect(outcome.error == response.verdict)
        }
    }

    private static let accepted: [Case<String>] = [
        Case("a length", ok("Content-Length: 5"), "200 length(5) keep"),
        Case("no content", ok("Content-Length: 0"), "200 length(0) keep"),
        Case("chunked", ok("Transfer-Encoding: CHUNKED"), "200 chunked keep"),
        Case("no framing", ok("X: a"), "200 untilClose close"),
        Case("no framing, keep-alive", ok("Connection: keep-alive"), "200 untilClose close"),
        Case("no reason", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", "404 length(0) keep"),
        Case(
            "no space behind the status",
            "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n",
            "404 length(0) keep"
        ),
        Case(
            "a reason beyond ASCII",
            "HTTP/1.1 200 \u{E9}\tx\r\nContent-Length: 0\r\n\r\n",
            "200 length(0) keep"
        ),
        Case("close", ok("Content-Length: 5\r\nConnection: close"), "200 length(5) close"),
        Case("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", "200 length(5) close"),
        Case(
            "HTTP/1.0 with keep-alive",
            "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n",
            "200 length(5) keep"
        ),
        Case("204", "HTTP/1.1 204 No Content\r\n\r\n", "204 none keep"),
        Case("204 with no length", "HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n", "204 none keep"),
        Case("204 with a length", "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n", "204 none close"),
        Case(
            "204 with chunks",
            "HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "204 none close"
        ),
        Case("304", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", "304 none keep 5"),
        Case(
            "304 with chunks",
            "HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "304 none keep"
        ),
        Case("100", "HTTP/1.1 100 Continue\r\n\r\n", "100 none keep"),
        Case(
            "101",
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            "101 none keep"
        ),
        Case("205", "HTTP/1.1 205 x\r\nContent-Length: 0\r\n\r\n", "205 length(0) keep"),
        Case(
            "an unknown status",
            "HTTP/1.1 799 x\r\nContent-Length: 1\r\n\r\n",
            "799 length(1) keep"
        ),
        Case("a folded line", ok("X: a\r\n b"), "200 untilClose close"),
        Case("a space before the colon", ok("Content-Length : 5"), "200 length(5) keep"),
        Case(
            "one length twice",
            ok("Content-Length: 5\r\nContent-Length: 5, 5"),
            "200 length(5) keep"
        ),
        Case("401", "HTTP/1.1 401 x\r\nContent-Length: 2\r\n\r\n", "401 length(2) keep"),
    ]

    @Test(arguments: accepted)
    func `a response is decoded the same regardless of the cut`(_ response: Case<String>) {
        for cuts in Replay.cuts(of: response.bytes) {
            let outcome = Replay.response(response.bytes, at: cuts, HTTP1Limits(), answering: .get)
            #expect(
                outcome.value.map(summary) == response.verdict,
                "\(String(describing: outcome))"
            )
        }
    }

    @Test func `a repaired response contains only the repaired form`() {
        let raw = Array(
            "HTTP/1.1 200 OK\r\nX: a \r\n\t b\r\n  \r\nY\t : \r\n c\r\nContent-Length: 5\r\nContent-Length: 5,5\r\n\r\n"
                .utf8
        )
        for cuts in Replay.cuts(of: raw) {
            let head = Replay.response(raw, at: cuts, HTTP1Limits(), answering: .get).value
            #expect(head?.headers == ["X": "a b", "Y": "c", .contentLength: "5"])
        }
    }

    private static let headAnswers: [Case<String>] = [
        Case("a length", ok("Content-Length: 5"), "200 none keep 5"),
        Case("chunked", ok("Transfer-Encoding: chunked"), "200 none keep"),
        Case("no framing", ok("X: a"), "200 none keep"),
    ]

    @Test(arguments: headAnswers)
    func `a response to HEAD has no body`(_ response: Case<String>) {
        let outcome = Replay.response(response.bytes, at: [], HTTP1Limits(), answering: .head)
        #expect(outcome.value.map(summary) == response.verdict)
    }

    @Test func `a tunnel begins after the response to CONNECT`() {
        let raw = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8)
        let outcome = Replay.response(raw, at: [], HTTP1Limits(), answering: .connect)
        #expect(outcome.value?.framing == BodyFraming.none)
    }

    @Test func `interim and final responses are decoded in order`() throws {
        let raw = Array(
            "HTTP/1.1 103 x\r\nLink: a\r\n\r\nHTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n".utf8
        )
        var decoder = ResponseHeadDecoder()
        let first = try #require(try decoder.decode(raw.span, answering: .get))
        let second = try #require(
            try decoder.decode(
                raw.span.extracting(first.consumed..<raw.count),
                answering: .get
            )
        )
        #expect(first.head.status == 103)
        #expect(second.head.status == 200)
    }

    private func summary(_ head: ResponseHead) -> String {
        "\(head.status) \(head.framing) \(head.keepAlive ? "keep" : "close")"
            + (head.announcedLength.map { " \($0)" } ?? "")
    }
}
