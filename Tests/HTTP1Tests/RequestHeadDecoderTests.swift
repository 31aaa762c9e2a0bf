import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@Suite struct RequestHeadDecoderTests {
    @Test(arguments: RefusedRequests.all)
    func `a malformed request is refused for the same reason regardless of the cut`(
        _ request: Case<HTTP1Error>
    ) {
        for cuts in Replay.cuts(of: request.bytes) {
            let outcome = Replay.request(request.bytes, at: cuts, HTTP1Limits())
            #expect(outcome.error == request.verdict, "cut at \(cuts.count == 1 ? cuts : [])")
        }
    }

    private static let accepted: [Case<String>] = [
        Case("the smallest", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / none keep a"),
        Case(
            "an empty line in front",
            "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / none keep a"
        ),
        Case("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", "GET / none close -"),
        Case(
            "HTTP/1.0 with keep-alive",
            "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            "GET / none keep -"
        ),
        Case(
            "HTTP/1.0 with keep-alive among others",
            "GET / HTTP/1.0\r\nConnection: X-A, Keep-Alive\r\n\r\n",
            "GET / none keep -"
        ),
        Case(
            "HTTP/1.0 with both options",
            "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
            "GET / none close -"
        ),
        Case(
            "HTTP/1.0 ignores an expectation",
            "PUT / HTTP/1.0\r\nExpect: x\r\nContent-Length: 1\r\n\r\n",
            "PUT / length(1) close -"
        ),
        Case(
            "close",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n",
            "GET / none close a"
        ),
        Case(
            "an empty Connection",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection:\r\n\r\n",
            "GET / none keep a"
        ),
        Case(
            "close in a second line",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: ,close\r\n\r\n",
            "GET / none close a"
        ),
        Case(
            "a length",
            "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
            "POST /x length(5) keep a"
        ),
        Case(
            "eighteen digits",
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999999999\r\n\r\n",
            "PUT / length(999999999999999999) keep a"
        ),
        Case(
            "a length of zero",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            "GET / length(0) keep a"
        ),
        Case(
            "leading zeros",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\n",
            "GET / length(7) keep a"
        ),
        Case(
            "HEAD with a body",
            "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
            "HEAD / length(5) keep a"
        ),
        Case(
            "chunked",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
            "POST / chunked keep a"
        ),
        Case(
            "an expectation",
            "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
            "PUT / length(1) keep a continue"
        ),
        Case(
            "an expectation without content",
            "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
            "PUT / none keep a"
        ),
        Case("outer white space", "GET / HTTP/1.1\r\nHost:\t a \t\r\n\r\n", "GET / none keep a"),
        Case(
            "a tab in a value",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\r\n\r\n",
            "GET / none keep a"
        ),
        Case(
            "an underscore",
            "GET / HTTP/1.1\r\nHost: a\r\nContent_Type: 5\r\n\r\n",
            "GET / none keep a"
        ),
        Case(
            "obs-text",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \u{FF}\u{80}\r\n\r\n",
            "GET / none keep a"
        ),
        Case(
            "a long method",
            "VERSION-CONTROL-EXTENDED / HTTP/1.1\r\nHost: a\r\n\r\n",
            "VERSION-CONTROL-EXTENDED / none keep a"
        ),
        Case(
            "a lower-case method is another",
            "get / HTTP/1.1\r\nHost: a\r\n\r\n",
            "get / none keep a"
        ),
        Case("*", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * none keep a"),
        Case(
            "CONNECT",
            "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
            "CONNECT a:443 none keep a:443"
        ),
        Case(
            "absolute-form",
            "GET http://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/x?y none keep a"
        ),
        Case(
            "the default port",
            "GET HTTP://A:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a:80/ none keep a"
        ),
        Case(
            "the default port in Host",
            "GET https://a/ HTTP/1.1\r\nHost: A:443\r\n\r\n",
            "GET https://a/ none keep a:443"
        ),
        Case(
            "absolute-form without Host",
            "GET http://b:81 HTTP/1.0\r\n\r\n",
            "GET http://b:81/ none close b:81"
        ),
        Case(
            "two spellings of an address",
            "GET http://[::1]/ HTTP/1.1\r\nHost: [0:0::1]\r\n\r\n",
            "GET http://[::1]/ none keep [::1]"
        ),
        Case("two slashes", "GET //b/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET //b/x none keep a"),
    ]

    @Test(arguments: accepted)
    func `a request is decoded the same regardless of the cut`(_ request: Case<String>) {
        for cuts in Replay.cuts(of: request.bytes) {
            let outcome = Replay.request(request.bytes, at: cuts, HTTP1Limits())
            #expect(outcome.value.map(summary) == request.verdict, "\(String(describing: outcome))")
        }
    }

    private func summary(_ head: RequestHead) -> String {
        let host = head.host.map { "\($0)" } ?? "-"
        return "\(head.method) \(head.target) \(head.framing) \(head.keepAlive ? "keep" : "close") "
            + host + (head.expectsContinue ? " continue" : "")
    }

    @Test func `the head ends after its empty line`() {
        let raw = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2".utf8)
        #expect(Replay.request(raw, at: [], HTTP1Limits()).consumed == raw.count - 6)
    }

    @Test func `an unfinished head is incomplete`() {
        let raw = Array("GET / HTTP/1.1\r\nHost: a\r\n\r".utf8)
        guard case .incomplete = Replay.request(raw, at: [], HTTP1Limits()) else {
            Issue.record("it should have waited")
            return
        }
    }

    @Test func `a decoder decodes successive requests`() throws {
        let raw = Array("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPUT /2 HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        var decoder = RequestHeadDecoder()
        let first = try #require(try decoder.decode(raw.span))
        let second = try #require(
            try decoder.decode(raw.span.extracting(first.consumed..<raw.count))
        )
        #expect(first.head.target == .origin("/1"))
        #expect(second.head.method == .put)
        #expect(second.head.host?.host == "b")
        #expect(first.consumed + second.consumed == raw.count)
    }

    @Test func `fields keep their order, spelling and repetitions`() throws {
        let raw = Array(
            "GET / HTTP/1.1\r\nHost: a\r\nx-B: 1\r\nX-a:2\r\nx-b:  3 \r\nEmpty:\r\n\r\n".utf8
        )
        let head = try #require(Replay.request(raw, at: [], HTTP1Limits()).value)
        #expect(
            head.headers.map(\.description) == ["Host: a", "x-B: 1", "X-a: 2", "x-b: 3", "Empty: "]
        )
        #expect(head.headers.values(of: "X-B") == ["1", "3"])
    }

    @Test func `every byte is examined once, even if bytes arrive one by one`() throws {
        let fields = (0..<60).map { "X-Field-\($0): \(String(repeating: "v", count: 100))\r\n" }
        let raw = Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields.joined())\r\n".utf8)
        var decoder = RequestHeadDecoder()
        for end in 1..<raw.count {
            let early = try decoder.decode(raw.span.extracting(0..<end))
            #expect(early == nil)
        }
        let head = try decoder.decode(raw.span)
        #expect(head?.consumed == raw.count)
        #expect(decoder.examinedBytes <= raw.count)
    }

    @Test(arguments: [
        ("HEAD /\u{1} HTTP/1.1", true), ("\r\nHEAD ", true), ("HEAD", false), ("HEADS / ", false),
        ("GEAD / ", false), ("HAAD / ", false), ("HEED / ", false), ("HEAT / ", false),
        ("head / ", false), ("\r\n", false), ("", false),
    ])
    func `the method of an unreadable head is recognized`(text: String, isHead: Bool) {
        #expect((RequestHead.unreadable(Array(text.utf8).span).method == .head) == isHead)
    }
}
