import NetproxyHTTP1
import NetproxyHTTPMessage
import TestSupport
import Testing

/// The responses of the corpus, sent by the origin of a complete daemon.
@Suite struct HostileResponseStory {
    enum Pace: CaseIterable { case whole, singleBytes }

    private static let cases = CorpusCase.all { $0 != .request }
        .filter { !$0.verdict.contains { $0.hasPrefix("101 ") } }
    private static let topics = Set(cases.map(\.topic)).sorted()

    // A hundred daemons each, which take a few seconds.
    @Test(arguments: topics, Pace.allCases)
    func `a hostile response is refused or cut, and the next request gets its own response`(
        topic: String,
        pace: Pace
    ) async throws {
        for corpusCase in Self.cases.filter({ $0.topic == topic })
        where pace == .whole || corpusCase.bytes.count < 300 {
            await #expect(throws: Never.self, "\(corpusCase)") { try await tell(corpusCase, pace) }
        }
    }

    private func tell(_ corpusCase: CorpusCase, _ pace: Pace) async throws {
        // The limits of an upstream connection.
        var limits = HTTP1Limits()
        (limits.sectionSize, limits.fieldCount) = (64 * 1024, 256)
        let conversation = Conversation(
            corpusCase.bytes,
            corpusCase.direction,
            limits: limits
        )
        let endsWithClose =
            ["cut", "unfinished"].contains(conversation.verdict.last ?? "")
            || conversation.responses.last?.head.framing == .untilClose
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                guard request.startLine.contains("/hostile") else {
                    try await wire.send(Raw.ok("own answer"))
                    continue
                }
                switch pace {
                case .whole: try await wire.send(corpusCase.bytes)
                case .singleBytes: try await wire.trickle(corpusCase.bytes)
                }
                if endsWithClose { return }
            }
        }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  match: { path: /, hosts: [a] }
                  retry: { attempts: 0 }
                """
        ) { proxy in
            let app = try await proxy.connect()
            guard case .response(let method) = corpusCase.direction else { return }
            try await app.send("\(method) /hostile HTTP/1.1\r\nHost: a\r\n\r\n")
            let isOpen = try await expectAnswer(conversation, to: method, on: app, "\(corpusCase)")
            // On the same connection if it is still open, and on another one.
            for next in isOpen ? [app, try await proxy.connect()] : [try await proxy.connect()] {
                try await next.send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await next.next()
                #expect(answer?.body == "own answer", "\(corpusCase)")
            }
            let isClean =
                conversation.verdict.count == conversation.responses.count
                && conversation.responses.last?.head.keepAlive ?? false
            if !isClean {
                let first = try #require(origin.connections.first)
                #expect(first.messages.count == 1, "\(corpusCase) was followed on its connection")
            }
        }
    }

    /// Reads the client's response; returns `false` if its connection is closed.
    private func expectAnswer(
        _ conversation: Conversation,
        to method: String,
        on app: Wire,
        _ comment: String
    ) async throws -> Bool {
        let last = conversation.responses.last { $0.head.status.kind != .informational }
        let hasBody = method != "HEAD" && last.map { $0.head.framing != .none } ?? true
        var answer = try await app.next(hasBody ? .asFramed : .none)
        while let interim = answer, (100..<200).contains(interim.status) {
            answer = try await app.next(hasBody ? .asFramed : .none)
        }
        if let last {
            #expect(answer?.status == last.head.status.rawValue, "\(comment)")
            #expect(answer?.body == String(decoding: last.body, as: UTF8.self), "\(comment)")
        } else if let answer {
            // The response was refused: a 502 is the only complete response.
            #expect(answer.status == 502, "\(comment)")
        }
        return answer.map { $0["Connection"] != "close" } ?? false
    }
}
