import NetproxyHTTP1
import NetproxyHTTPMessage
import TestSupport
import Testing

/// The requests of the corpus, sent to a complete daemon with an origin.
@Suite struct HostileRequestStory {
    enum Form: CaseIterable { case asWritten, absolute }
    enum Pace: CaseIterable { case whole, singleBytes }

    private static let topics = Set(CorpusCase.all { $0 == .request }.map(\.topic)).sorted()

    // Hundreds of connections each, which take a second or two.
    @Test(arguments: topics, Form.allCases)
    func `neither a refused request nor anything after it reaches an origin`(
        topic: String,
        form: Form
    ) async throws {
        try await run(topic, form) { $0.isRefused }
    }

    @Test(arguments: topics)
    func `an accepted request reaches the origin once and unchanged`(topic: String) async throws {
        try await run(topic, .asWritten) { corpusCase in
            !corpusCase.isRefused && corpusCase.verdict.last != "unfinished"
                && Conversation(corpusCase).requests.allSatisfy(isOrdinary)
        }
    }

    @Test(arguments: topics)
    func `an incomplete request never reaches the origin complete`(topic: String) async throws {
        try await run(topic, .asWritten) { $0.verdict.last == "unfinished" }
    }

    /// Whether the daemon forwards the request like any other, apart from its rules for tunnels and hops.
    private func isOrdinary(_ request: Conversation.Request) -> Bool {
        let head = request.head
        guard head.host?.host ?? "a" == "a", head.target.pathAndQuery?.hasPrefix("/") ?? false,
            !["CONNECT", "TRACE"].contains(head.method.rawValue),
            !head.headers.contains(HTTPFieldName.upgrade), !request.head.expectsContinue
        else { return false }
        if case .absolute(let scheme, _, _) = head.target, scheme == .https { return false }
        return !"\(head.target)".contains("..")
    }

    private func run(
        _ topic: String,
        _ form: Form,
        where isWanted: (CorpusCase) -> Bool
    ) async throws {
        // The daemon uses HTTP/2 on a connection that begins with the HTTP/2 preface.
        let preface = Array("PRI * HTTP/2.0\r\n".utf8)
        let cases = CorpusCase.all { $0 == .request }.filter {
            $0.topic == topic && !$0.bytes.starts(with: preface) && isWanted($0)
        }
        guard !cases.isEmpty else { return }
        let origin = try await OriginServer.start { Raw.ok("\($0.startLine) \($0.body)") }
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)
                  match: { path: /, hosts: [a] }
                  access: { hosts: ["*"] }
                  retry: { attempts: 0 }
                """
        ) { proxy in
            var whole = 0
            for corpusCase in cases {
                let bytes = form == .absolute ? absolute(corpusCase.bytes) : corpusCase.bytes
                let conversation = Conversation(bytes, .request)
                for pace in Pace.allCases where pace == .whole || bytes.count < 300 {
                    let app = try await proxy.connect()
                    await send(bytes, at: pace, on: app)
                    try await expectAnswers(conversation, on: app, "\(corpusCase), \(pace)")
                    whole += conversation.requests.count { isOrdinary($0) }
                    let seen = origin.requests.count
                    #expect(seen == whole, "\(corpusCase), \(pace)")
                    whole = seen
                }
            }
            await proxy.stop()
            // The proxy adds its own fields.
            var limits = HTTP1Limits()
            limits.fieldCount += 10
            for wire in origin.connections {
                let seen = Conversation(wire.receivedBytes, .request, limits: limits)
                #expect(!(seen.verdict.last?.hasPrefix("refused") ?? false), "\(seen.verdict)")
            }
        }
    }

    /// Sends bytes; the proxy may close before all of them are sent.
    private func send(_ bytes: [UInt8], at pace: Pace, on app: Wire) async {
        do {
            switch pace {
            case .whole: try await app.send(bytes)
            case .singleBytes: try await app.trickle(bytes)
            }
        } catch {}
    }

    private func expectAnswers(
        _ conversation: Conversation,
        on app: Wire,
        _ comment: String
    ) async throws {
        for request in conversation.requests {
            let answer = try await app.next(request.head.method == .head ? .none : .asFramed)
            guard isOrdinary(request) else { continue }
            #expect(answer?.status == 200, "\(comment)")
            guard request.head.method != .head else { continue }
            let target = request.head.target.pathAndQuery ?? ""
            #expect(
                answer?.body == "\(request.head.method) \(target) HTTP/1.1 "
                    + String(decoding: request.body, as: UTF8.self),
                "\(comment)"
            )
        }
        if conversation.verdict.last?.hasPrefix("refused") ?? false {
            let answer = try await app.next()
            let status = answer?.status ?? 400
            #expect((400..<600).contains(status), "\(comment): \(status)")
        }
        try? await app.finishWriting()
        let (text, _) = try await app.rest()
        // An endless request can time out on a busy machine.
        let isLate = conversation.verdict.last == "unfinished" && text.hasPrefix("HTTP/1.1 408 ")
        #expect(text.isEmpty || isLate, "\(comment)")
    }

    /// Returns the bytes with `http://a` before every origin-form target.
    private func absolute(_ bytes: [UInt8]) -> [UInt8] {
        let slash = Array(" /".utf8)
        let version = Array(" HTTP/".utf8)
        guard let lineEnd = bytes.firstRange(of: [0x0D, 0x0A])?.lowerBound,
            let target = bytes[..<lineEnd].firstRange(of: slash)?.lowerBound,
            bytes[..<lineEnd].firstRange(of: version) != nil
        else { return bytes }
        return Array(bytes[...target] + "http://a".utf8 + bytes[(target + 1)...])
    }
}
