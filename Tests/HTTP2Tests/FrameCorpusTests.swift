import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@testable import NetproxyHTTP2

/// Valid and invalid frames of a peer, and their outcome: received whole, byte by byte, and split at each
/// offset.
@Suite struct FrameCorpusTests {
    enum Verdict: Equatable {
        /// The message arrives with this number of content bytes.
        case message(Int)
        /// The message is refused; the connection stays open.
        case refused(HTTP2Fault)
        /// The connection is closed.
        case over
        /// No event yet.
        case nothing
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bytes: [UInt8]
        let verdict: Verdict

        init(_ name: String, _ verdict: Verdict, _ bytes: [UInt8]...) {
            (testDescription, self.verdict, self.bytes) = (name, verdict, bytes.flatMap { $0 })
        }
    }

    private static let pseudo = [
        (":method", "GET"), (":scheme", "http"), (":path", "/a"), (":authority", "a"),
    ]
    private static let post = [(":method", "POST")] + pseudo.dropFirst()

    private static func get(_ more: (String, String)..., without name: String = "") -> [UInt8] {
        RawFrame.head(1, pseudo.filter { $0.0 != name } + more, ends: true)
    }

    private static func request(_ more: (String, String)..., content: String) -> [UInt8] {
        RawFrame.head(1, post + more, ends: false) + RawFrame.data(1, content, ends: true)
    }

    private static let long = String(repeating: "v", count: 9000)

    static let requests: [Case] = [
        Case("a request", .message(0), get()),
        Case("with fields", .message(0), get(("accept", "*/*"), ("te", "trailers"))),
        Case("with content", .message(5), request(content: "hello")),
        Case("with a length", .message(5), request(("content-length", "5"), content: "hello")),
        Case(
            "in two frames",
            .message(0),
            RawFrame.frame(1, 1, 1, RawFrame.block(pseudo)),
            RawFrame.frame(9, 4, 1, RawFrame.field("x", "y"))
        ),
        Case(
            "host in place of the authority",
            .message(0),
            get(("host", "a"), without: ":authority")
        ),
        Case("host that says the same", .message(0), get(("host", "A"))),
        Case(
            "trailers",
            .message(5),
            RawFrame.head(1, post, ends: false),
            RawFrame.data(1, "hello", ends: false),
            RawFrame.head(1, [("x-late", "1")], ends: true)
        ),
        Case("an unknown frame", .message(0), RawFrame.frame(77, 0, 1, [1, 2, 3]), get()),
        Case(
            "padding",
            .message(0),
            RawFrame.frame(1, 13, 1, [3] + RawFrame.block(pseudo) + [0, 0, 0])
        ),
        Case(
            "a method of one's own",
            .message(0),
            RawFrame.head(1, [(":method", "REPORT")] + pseudo.dropFirst(), ends: true)
        ),
        Case("no method", .refused(.missingPseudoField), get(without: ":method")),
        Case("no path", .refused(.missingPseudoField), get(without: ":path")),
        Case("no scheme", .refused(.missingPseudoField), get(without: ":scheme")),
        Case(
            "no authority and no host",
            .refused(.message(.missingHost)),
            get(without: ":authority")
        ),
        Case(
            "a method twice",
            .refused(.repeatedPseudoField),
            RawFrame.head(1, pseudo + [(":method", "GET")], ends: true)
        ),
        Case(
            "a pseudo-field after a field",
            .refused(.misplacedPseudoField),
            RawFrame.head(1, pseudo + [("x", "y"), (":path", "/b")], ends: true)
        ),
        Case(
            "a pseudo-field of answers",
            .refused(.unknownPseudoField),
            RawFrame.head(1, pseudo + [(":status", "200")], ends: true)
        ),
        Case(
            "a pseudo-field that is none",
            .refused(.unknownPseudoField),
            RawFrame.head(1, pseudo + [(":fancy", "1")], ends: true)
        ),
        Case(
            "an empty path",
            .refused(.missingPseudoField),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "http"), (":path", ""), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "a path that is none",
            .refused(.message(.unsuitableTarget)),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "http"), (":path", "a"), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "a path with a space",
            .refused(.message(.malformedTarget)),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "http"), (":path", "/a b"), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "a path with a line",
            .refused(.malformedFieldValue),
            RawFrame.head(
                1,
                [
                    (":method", "GET"), (":scheme", "http"), (":path", "/ HTTP/1.1\r\nX: y"),
                    (":authority", "a"),
                ],
                ends: true
            )
        ),
        Case(
            "a URL as the path",
            .refused(.message(.unsuitableTarget)),
            RawFrame.head(
                1,
                [
                    (":method", "GET"), (":scheme", "http"), (":path", "http://b/"),
                    (":authority", "a"),
                ],
                ends: true
            )
        ),
        Case(
            "another scheme",
            .refused(.unsupportedScheme),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "ftp"), (":path", "/"), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "a scheme in capitals",
            .message(0),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "HTTP"), (":path", "/"), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "a method that is no token",
            .refused(.malformedPseudoField),
            RawFrame.head(
                1,
                [(":method", "GE T"), (":scheme", "http"), (":path", "/"), (":authority", "a")],
                ends: true
            )
        ),
        Case(
            "an authority with a user",
            .refused(.message(.malformedHost)),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "u@a")],
                ends: true
            )
        ),
        Case("another host", .refused(.message(.hostMismatch)), get(("host", "b"))),
        Case("capitals in a name", .refused(.malformedFieldName), get(("X-Field", "1"))),
        Case(
            "capitals in a pseudo-field",
            .refused(.malformedFieldName),
            RawFrame.head(1, [(":Method", "GET")] + pseudo.dropFirst(), ends: true)
        ),
        Case("a name with a space", .refused(.malformedFieldName), get(("x field", "1"))),
        Case("a name with a colon", .refused(.malformedFieldName), get(("x:y", "1"))),
        Case("an empty name", .refused(.malformedFieldName), get(("", "1"))),
        Case("a value with a line", .refused(.malformedFieldValue), get(("x", "1\r\ny: 2"))),
        Case("a value with a zero byte", .refused(.malformedFieldValue), get(("x", "1\0"))),
        Case(
            "white space around a value",
            .message(0),
            get(("x", " 1\t"), ("content-length", "0 "))
        ),
        Case(
            "white space around a path",
            .refused(.message(.malformedTarget)),
            RawFrame.head(
                1,
                [(":method", "GET"), (":scheme", "http"), (":path", "/ "), (":authority", "a")],
                ends: true
            )
        ),
        Case("a tab within a value", .message(0), get(("x", "1\t2"))),
        Case("Connection", .refused(.connectionField), get(("connection", "close"))),
        Case("Keep-Alive", .refused(.connectionField), get(("keep-alive", "timeout=5"))),
        Case("Upgrade", .refused(.connectionField), get(("upgrade", "websocket"))),
        Case(
            "Transfer-Encoding",
            .refused(.connectionField),
            request(("transfer-encoding", "chunked"), content: "0\r\n\r\n")
        ),
        Case("TE other than trailers", .refused(.connectionField), get(("te", "gzip"))),
        Case(
            "more than the length",
            .refused(.contentBeyondLength),
            request(("content-length", "2"), content: "hello")
        ),
        Case(
            "less than the length",
            .refused(.contentBelowLength),
            request(("content-length", "9"), content: "hello")
        ),
        Case(
            "less than the length before trailers",
            .refused(.contentBelowLength),
            RawFrame.head(1, post + [("content-length", "5")], ends: false),
            RawFrame.data(1, "hel", ends: false),
            RawFrame.head(1, [("x-late", "1")], ends: true)
        ),
        Case(
            "a length without content",
            .refused(.contentBelowLength),
            get(("content-length", "5"))
        ),
        Case(
            "two lengths",
            .refused(.message(.repeatedContentLength)),
            request(("content-length", "5"), ("content-length", "5"), content: "hello")
        ),
        Case(
            "a length that is no number",
            .refused(.message(.malformedContentLength)),
            request(("content-length", "+5"), content: "hello")
        ),
        Case(
            "trailers that end nothing",
            .refused(.unfinishedTrailers),
            RawFrame.head(1, post, ends: false),
            RawFrame.head(1, [("x", "1")], ends: false)
        ),
        Case(
            "a pseudo-field in the trailers",
            .refused(.misplacedPseudoField),
            RawFrame.head(1, post, ends: false),
            RawFrame.head(1, [(":path", "/b")], ends: true)
        ),
        Case(
            "a length in the trailers",
            .refused(.message(.forbiddenTrailer)),
            RawFrame.head(1, post, ends: false),
            RawFrame.head(1, [("content-length", "5")], ends: true)
        ),
        Case(
            "fields beyond the limit",
            .refused(.message(.sectionTooLarge)),
            RawFrame.frame(1, 1, 1, RawFrame.block(pseudo + [("x", long)])),
            RawFrame.frame(9, 4, 1, RawFrame.field("y", long))
        ),
        Case("a stream of the other side", .over, RawFrame.head(2, pseudo, ends: true)),
        Case("content before a head", .over, RawFrame.data(1, "hello", ends: true)),
        Case("content on no stream", .over, RawFrame.data(0, "hello", ends: true)),
        Case("a continuation of nothing", .over, RawFrame.frame(9, 4, 1, RawFrame.block(pseudo))),
        Case(
            "another frame within a head",
            .over,
            RawFrame.frame(1, 1, 1, RawFrame.block(pseudo)),
            RawFrame.frame(6, 0, 0, [UInt8](repeating: 0, count: 8))
        ),
        Case(
            "HPACK that has no meaning",
            .over,
            RawFrame.frame(1, 5, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        ),
        Case(
            "PING of seven bytes",
            .over,
            RawFrame.frame(6, 0, 0, [UInt8](repeating: 0, count: 7))
        ),
        Case("PRIORITY on no stream", .over, RawFrame.frame(2, 0, 0, [0, 0, 0, 0, 1])),
        Case("a window of nothing", .over, RawFrame.frame(8, 0, 0, [0, 0, 0, 0])),
        Case("settings of five bytes", .over, RawFrame.frame(4, 0, 0, [0, 0, 0, 0, 0])),
        Case(
            "PUSH_PROMISE",
            .over,
            RawFrame.frame(5, 4, 1, [0, 0, 0, 2] + RawFrame.block(pseudo))
        ),
        Case("a frame that is too long", .over, RawFrame.number(1 << 20, 3) + [0, 0, 0, 0, 0, 1]),
        Case("half a frame", .nothing, Array(get().dropLast())),
    ]

    private static let ok = [(":status", "200")]

    static let responses: [Case] = [
        Case("an answer", .message(0), RawFrame.head(1, ok, ends: true)),
        Case(
            "with content",
            .message(5),
            RawFrame.head(1, ok, ends: false),
            RawFrame.data(1, "hello", ends: true)
        ),
        Case(
            "with a length",
            .message(5),
            RawFrame.head(1, ok + [("content-length", "5")], ends: false),
            RawFrame.data(1, "hello", ends: true)
        ),
        Case(
            "after an interim one",
            .message(0),
            RawFrame.head(1, [(":status", "103")], ends: false),
            RawFrame.head(1, ok, ends: true)
        ),
        Case(
            "with trailers",
            .message(5),
            RawFrame.head(1, ok, ends: false),
            RawFrame.data(1, "hello", ends: false),
            RawFrame.head(1, [("grpc-status", "0")], ends: true)
        ),
        Case(
            "an empty frame at the end",
            .message(5),
            RawFrame.head(1, ok, ends: false),
            RawFrame.data(1, "hello", ends: false),
            RawFrame.data(1, "", ends: true)
        ),
        Case(
            "no status",
            .refused(.missingPseudoField),
            RawFrame.head(1, [("x", "y")], ends: true)
        ),
        Case(
            "a status of two digits",
            .refused(.malformedPseudoField),
            RawFrame.head(1, [(":status", "20")], ends: true)
        ),
        Case(
            "a status of letters",
            .refused(.malformedPseudoField),
            RawFrame.head(1, [(":status", "abc")], ends: true)
        ),
        Case("two statuses", .refused(.repeatedPseudoField), RawFrame.head(1, ok + ok, ends: true)),
        Case(
            "101",
            .refused(.malformedPseudoField),
            RawFrame.head(1, [(":status", "101")], ends: false)
        ),
        Case(
            "an interim answer that ends",
            .refused(.malformedPseudoField),
            RawFrame.head(1, [(":status", "103")], ends: true)
        ),
        Case(
            "a pseudo-field of requests",
            .refused(.unknownPseudoField),
            RawFrame.head(1, ok + [(":path", "/")], ends: true)
        ),
        Case(
            "Transfer-Encoding",
            .refused(.connectionField),
            RawFrame.head(1, ok + [("transfer-encoding", "chunked")], ends: true)
        ),
        Case(
            "more than the length",
            .refused(.contentBeyondLength),
            RawFrame.head(1, ok + [("content-length", "2")], ends: false),
            RawFrame.data(1, "hello", ends: true)
        ),
        Case(
            "less than the length",
            .refused(.contentBelowLength),
            RawFrame.head(1, ok + [("content-length", "9")], ends: false),
            RawFrame.data(1, "hello", ends: true)
        ),
        Case(
            "less than the length before trailers",
            .refused(.contentBelowLength),
            RawFrame.head(1, ok + [("content-length", "5")], ends: false),
            RawFrame.data(1, "hel", ends: false),
            RawFrame.head(1, [("x-late", "1")], ends: true)
        ),
        Case(
            "content before the head",
            .over,
            RawFrame.data(1, "hello", ends: false)
        ),
        Case(
            "content with 204",
            .refused(.unexpectedContent),
            RawFrame.head(1, [(":status", "204")], ends: false),
            RawFrame.data(1, "hello", ends: true)
        ),
        Case(
            "PUSH_PROMISE",
            .over,
            RawFrame.frame(4, 1, 0),
            RawFrame.frame(5, 4, 1, [0, 0, 0, 2] + RawFrame.block(pseudo))
        ),
        Case(
            "PUSH_PROMISE before our settings are acknowledged",
            .over,
            RawFrame.frame(5, 4, 1, [0, 0, 0, 2] + RawFrame.block(pseudo))
        ),
        Case("content on a stream that is none", .over, RawFrame.data(3, "hello", ends: true)),
        Case("half a frame", .nothing, Array(RawFrame.head(1, ok, ends: true).dropLast())),
    ]

    @Test(arguments: requests) func `the server judges each sequence of client frames`(story: Case)
    {
        check(story, RawFrame.preface + RawFrame.settings + story.bytes) { HTTP2Session(.server) }
    }

    @Test(arguments: responses) func `the client judges each sequence of origin frames`(story: Case)
    {
        check(story, RawFrame.settings + story.bytes) {
            let session = HTTP2Session(.client)
            let head = OutputBuffer()
            HeadEncoder.encodeRequest(
                method: .get,
                target: "/",
                host: "a",
                headers: HTTPHeaders(),
                framing: .none,
                into: head
            )
            #expect(session.sendRequest(head, method: .get, scheme: "http", hasContent: false) == 1)
            return session
        }
    }

    private func check(_ story: Case, _ bytes: [UInt8], _ make: () -> HTTP2Session) {
        #expect(verdict(bytes, [], make()) == story.verdict)
        guard bytes.count < 2000 else { return }
        #expect(verdict(bytes, Array(0..<bytes.count), make()) == story.verdict, "byte by byte")
        for cut in bytes.indices {
            #expect(verdict(bytes, [cut], make()) == story.verdict, "cut at \(cut)")
        }
    }

    private func verdict(_ bytes: [UInt8], _ cuts: [Int], _ session: HTTP2Session) -> Verdict {
        var (start, count) = (0, 0)
        let opening = OutputBuffer()
        _ = try? session.produce(into: opening, upTo: 1 << 20)
        var verdict = Verdict.nothing
        for end in cuts + [bytes.count] {
            let part = Array(bytes[start..<end])
            start = end
            let output = OutputBuffer()
            guard (try? session.receive(part.span, now: 1)) != nil,
                (try? session.produce(into: output, upTo: 1 << 20)) != nil
            else { return .over }
            for event in session.takeEvents() {
                switch event {
                case .content(_, let range): count += range.count
                case .request(_, _, let ends) where ends: verdict = .message(0)
                case .response(_, let head, let ends) where ends && head.status.rawValue >= 200:
                    verdict = .message(0)
                case .ended: verdict = .message(count)
                case .malformed(_, let fault, _): return .refused(fault)
                default: break
                }
            }
            if session.isOver, verdict == .nothing { return .over }
        }
        return verdict
    }

    // MARK: - Limits

    private func ends(
        with limits: HTTP2Limits = HTTP2Limits(),
        _ frames: [[UInt8]],
        perSecond: Int = .max
    ) -> Bool {
        let session = HTTP2Session(.server, limits: limits)
        let output = OutputBuffer()
        var now: UInt64 = 1
        for (number, bytes) in ([RawFrame.preface + RawFrame.settings] + frames).enumerated() {
            if perSecond < .max, number % perSecond == 0 { now += 1_000_000_000 }
            output.removeAll()
            guard (try? session.receive(bytes.span, now: now)) != nil else { return true }
            _ = session.takeEvents()
            guard (try? session.produce(into: output, upTo: 1 << 20)) != nil else { return true }
            if session.isOver { return true }
        }
        return false
    }

    private static let ping = RawFrame.frame(6, 0, 0, [UInt8](repeating: 0, count: 8))

    @Test(arguments: [
        FrameCorpusTests.ping, RawFrame.settings, RawFrame.frame(2, 0, 3, [0, 0, 0, 0, 1]),
        RawFrame.frame(8, 0, 0, [0, 0, 0, 1]),
    ])
    func `too many useless frames end the connection`(frame: [UInt8]) {
        #expect(!ends([[UInt8]](repeating: frame, count: 900)))
        #expect(ends([[UInt8]](repeating: frame, count: 1100)))
        // A slow stream of them may continue without end.
        #expect(!ends([[UInt8]](repeating: frame, count: 5000), perSecond: 90))
    }

    @Test func `streams that are reset right after they open end the connection`() {
        let storm = (0..<1200).map { number in
            RawFrame.head(number * 2 + 1, FrameCorpusTests.pseudo, ends: true)
                + RawFrame.frame(3, 0, number * 2 + 1, [0, 0, 0, 8])
        }
        #expect(ends(storm))
        #expect(!ends(Array(storm.prefix(500))))
    }

    @Test func `a head in too many pieces ends the connection`() {
        func head(_ pieces: Int) -> [[UInt8]] {
            [RawFrame.frame(1, 1, 1, RawFrame.block(FrameCorpusTests.pseudo))]
                + (0..<pieces).map {
                    RawFrame.frame(9, $0 == pieces - 1 ? 4 : 0, 1, RawFrame.field("x", "\($0)"))
                }
        }
        #expect(!ends(head(8)))
        #expect(ends(head(9)))
        var limits = HTTP2Limits()
        limits.continuations = 20
        #expect(!ends(with: limits, head(20)))
    }

    @Test func `ten thousand references to one table entry are refused as too large`() {
        // An entry of 4000 bytes in the dynamic table, and references to it.
        let entry: [UInt8] =
            [0x40] + RawFrame.field("x", String(repeating: "v", count: 4000)).dropFirst()
        let bomb =
            RawFrame.block(FrameCorpusTests.pseudo) + entry
            + [UInt8](repeating: 0xBE, count: 10_000)
        let session = HTTP2Session(.server)
        let bytes = RawFrame.preface + RawFrame.settings + RawFrame.frame(1, 5, 1, bomb)
        #expect(throws: Never.self) { try session.receive(bytes.span, now: 1) }
        let faults = session.takeEvents().compactMap {
            if case .malformed(_, let fault, _) = $0 { fault } else { nil }
        }
        #expect(faults == [.message(.sectionTooLarge)])
    }

    @Test func `the server refuses streams beyond its limit`() {
        var limits = HTTP2Limits()
        limits.streams = 3
        let session = HTTP2Session(.server, limits: limits)
        let heads = (0..<5).flatMap {
            RawFrame.head($0 * 2 + 1, FrameCorpusTests.post, ends: false)
        }
        // The peer must obey the limit once it has acknowledged it.
        let opening = RawFrame.preface + RawFrame.settings
        let output = OutputBuffer()
        #expect(throws: Never.self) {
            try session.receive(opening.span, now: 1)
            try session.produce(into: output, upTo: 1 << 16)
            try session.receive((RawFrame.frame(4, 1, 0) + heads).span, now: 1)
        }
        let requests = session.takeEvents().filter {
            if case .request = $0 { true } else { false }
        }
        #expect(requests.count == 3)
    }
}
