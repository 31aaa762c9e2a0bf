import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct BodyDecoderTests {
    private static let accepted: [Case<String>] = [
        Case("no chunk", "0\r\n\r\n", ""),
        Case("zeros in front", "000000000000005\r\nhello\r\n00000000000000000\r\n\r\n", "hello"),
        Case("one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        Case("two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        Case(
            "capital and small hex",
            "A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n",
            "01234567890123456789a"
        ),
        Case("leading zeros", "005\r\nhello\r\n000\r\n\r\n", "hello"),
        Case("fifteen digits", "000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        Case("an extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n", "hello"),
        Case("a quoted extension", "5;a=\"b; c\"\r\nhello\r\n0\r\n\r\n", "hello"),
        Case("CRLF in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
        Case("trailers", "1\r\na\r\n0\r\nX: b\r\n\r\n", "a"),
        Case("another message behind", "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1", "a"),
    ]

    @Test(arguments: accepted)
    func `chunks are decoded the same regardless of the cut`(_ body: Case<String>) {
        for cuts in Replay.cuts(of: body.bytes) {
            let outcome = Replay.body(body.bytes, at: cuts, HTTP1Limits(), framing: .chunked)
            #expect(outcome.value?.text == body.verdict, "\(String(describing: outcome))")
        }
    }

    private static let refused: [Case<HTTP1Error>] = [
        Case("no size", "\r\nhello\r\n", .malformedChunkSize),
        Case("0x", "0x5\r\nhello\r\n", .malformedChunkSize),
        Case("a plus", "+5\r\nhello\r\n", .malformedChunkSize),
        Case("a minus", "-5\r\nhello\r\n", .malformedChunkSize),
        Case("a leading space", " 5\r\nhello\r\n", .malformedChunkSize),
        Case("a trailing space", "5 \r\nhello\r\n", .malformedChunkSize),
        Case("a space before the extension", "5 ;a\r\nhello\r\n", .malformedChunkSize),
        Case("junk behind the size", "5 junk\r\nhello\r\n", .malformedChunkSize),
        Case("an underscore", "1_0\r\n", .malformedChunkSize),
        Case("sixteen digits", "1000000000000000\r\n", .malformedChunkSize),
        Case("sixteen digits behind zeros", "001000000000000000\r\n", .malformedChunkSize),
        Case("twenty-one digits", "000000000000000000005\r\n", .malformedChunkSize),
        Case("an overflow", "FFFFFFFFFFFFFFFFF\r\n", .malformedChunkSize),
        Case("only an extension", ";a\r\n", .malformedChunkSize),
        Case("LF behind the size", "5\nhello\r\n", .malformedChunkSize),
        Case("CR alone behind the size", "5\rhello\r\n", .malformedChunkSize),
        Case("LF in the extension", "5;a\nhello\r\n", .malformedChunkExtension),
        Case("CR in the extension", "5;a\rb\r\nhello\r\n", .malformedChunkSize),
        Case("NUL in the extension", "5;a\0\r\nhello\r\n", .malformedChunkExtension),
        Case("no CRLF behind the data", "5\r\nhello0\r\n\r\n", .malformedChunkEnd),
        Case("LF behind the data", "5\r\nhello\n0\r\n\r\n", .malformedChunkEnd),
        Case("CR alone behind the data", "5\r\nhello\r0\r\n\r\n", .malformedChunkEnd),
        Case("an empty line too many", "5\r\nhello\r\n\r\n0\r\n\r\n", .malformedChunkSize),
        Case("LF behind the last chunk", "0\r\n\n", .bareLineFeed),
        Case("no colon in a trailer", "0\r\nX\r\n\r\n", .malformedFieldName),
        Case("a folded trailer", "0\r\nX: a\r\n b\r\n\r\n", .foldedLine),
        Case("a trailer with a NUL", "0\r\nX: \0\r\n\r\n", .controlByte),
        Case("Content-Length behind the body", "0\r\nContent-Length: 5\r\n\r\n", .forbiddenTrailer),
        Case(
            "Transfer-Encoding behind the body",
            "0\r\nTransfer-Encoding: chunked\r\n\r\n",
            .forbiddenTrailer
        ),
        Case("Host behind the body", "0\r\nHost: b\r\n\r\n", .forbiddenTrailer),
    ]

    @Test(arguments: refused)
    func `malformed chunks are refused for the same reason regardless of the cut`(
        _ body: Case<HTTP1Error>
    ) {
        for cuts in Replay.cuts(of: body.bytes) {
            let outcome = Replay.body(body.bytes, at: cuts, HTTP1Limits(), framing: .chunked)
            #expect(outcome.error == body.verdict, "\(String(describing: outcome))")
        }
    }

    @Test func `bytes after the last chunk are not consumed`() {
        let raw = Array("1\r\na\r\n0\r\n\r\nGET".utf8)
        let outcome = Replay.body(raw, at: [], HTTP1Limits(), framing: .chunked)
        #expect(outcome.consumed == raw.count - 3)
    }

    @Test func `forbidden trailer fields are removed`() {
        let raw = Array(
            "0\r\nX-Sum: 1\r\nAuthorization: b\r\nSet-Cookie: c\r\nConnection: x\r\n\r\n".utf8
        )
        let outcome = Replay.body(raw, at: [], HTTP1Limits(), framing: .chunked)
        #expect(outcome.value?.trailers == ["X-Sum": "1"])
    }

    @Test func `the size of one extension and the total size of extensions are limited`() {
        let long = Array("1;\(String(repeating: "x", count: 257))\r\n".utf8)
        #expect(
            Replay.body(long, at: [], HTTP1Limits(), framing: .chunked).error
                == .chunkExtensionTooLarge
        )
        let line = "1;\(String(repeating: "x", count: 255))\r\na\r\n"
        let many = Array(String(repeating: line, count: 65).utf8)
        #expect(
            Replay.body(many, at: [], HTTP1Limits(), framing: .chunked).error
                == .chunkExtensionTooLarge
        )
    }

    @Test func `each chunk may have an extension of the maximum size`() {
        let line = "1;\(String(repeating: "x", count: 255))\r\na\r\n"
        let raw = Array((line + line + "0\r\n\r\n").utf8)
        let outcome = Replay.body(raw, at: [], HTTP1Limits(), framing: .chunked)
        #expect(outcome.value?.text == "aa")
    }

    @Test func `the number of trailers is limited`() {
        let raw = Array(("0\r\n" + String(repeating: "X: a\r\n", count: 101) + "\r\n").utf8)
        #expect(Replay.body(raw, at: [], HTTP1Limits(), framing: .chunked).error == .tooManyFields)
    }

    @Test func `a body with a length ends after exactly that length`() throws {
        let raw = Array("helloGET".utf8)
        for cuts in Replay.cuts(of: raw) {
            let outcome = Replay.body(raw, at: cuts, HTTP1Limits(), framing: .length(5))
            #expect(outcome.value?.text == "hello")
            #expect(outcome.consumed == 5)
        }
    }

    @Test func `a body with a length is complete with its last byte`() throws {
        var decoder = BodyDecoder(.length(5))
        let event = try decoder.next(Array("hello".utf8).span)
        #expect(event == .data(skip: 0, count: 5))
        #expect(decoder.isComplete)
    }

    @Test(arguments: [BodyFraming.none, .length(0)])
    func `an absent body is complete immediately`(_ framing: BodyFraming) throws {
        var decoder = BodyDecoder(framing)
        #expect(decoder.isComplete)
        let event = try decoder.next(Array("GET".utf8).span)
        #expect(event == .end(consumed: 0))
    }

    @Test func `only a body without framing may end with the connection`() throws {
        var open = BodyDecoder(.untilClose)
        _ = try open.next(Array("abc".utf8).span)
        #expect(!open.isComplete)
        try open.endOfStream()
        #expect(open.isComplete)
        var short = BodyDecoder(.length(5))
        _ = try short.next(Array("abc".utf8).span)
        #expect(throws: HTTP1Error.cutShort) { try short.endOfStream() }
        var chunked = BodyDecoder(.chunked)
        _ = try chunked.next(Array("1\r\na\r\n0\r\n".utf8).span)
        #expect(throws: HTTP1Error.cutShort) { try chunked.endOfStream() }
    }

    @Test func `several chunks are decoded in the minimum number of events`() throws {
        let raw = Array("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n".utf8)
        var decoder = BodyDecoder(.chunked)
        let first = try decoder.next(raw.span)
        let second = try decoder.next(raw.span.extracting(8..<raw.count))
        let third = try decoder.next(raw.span.extracting(14..<raw.count))
        #expect(first == .data(skip: 3, count: 5))
        #expect(second == .data(skip: 5, count: 1))
        #expect(third == .end(consumed: 7))
    }
}
