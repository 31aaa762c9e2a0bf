import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@testable import NetproxyHTTP2

/// A client session and a server session that exchange their bytes.
final class Pair {
    let client: HTTP2Session
    let server: HTTP2Session
    var clientEvents: [HTTP2Event] = []
    var serverEvents: [HTTP2Event] = []
    /// The content received by each side.
    var clientContent: [UInt8] = []
    var serverContent: [UInt8] = []
    /// The maximum number of bytes in each delivery.
    var step: Int

    init(
        client: HTTP2Limits = HTTP2Limits(),
        server: HTTP2Limits = HTTP2Limits(),
        memory: ContentBudget = ContentBudget(64 << 20),
        step: Int = .max
    ) {
        self.client = HTTP2Session(.client, limits: client, memory: memory)
        self.server = HTTP2Session(.server, limits: server, memory: memory)
        self.step = step
    }

    /// Carries bytes until neither side has more to send.
    func run() throws {
        while client.wantsToSend || server.wantsToSend {
            try carry(client, server) { event, bytes in
                if case .content(_, let range) = event { serverContent += bytes[range] }
                serverEvents.append(event)
            }
            try carry(server, client) { event, bytes in
                if case .content(_, let range) = event { clientContent += bytes[range] }
                clientEvents.append(event)
            }
        }
    }

    private func carry(
        _ from: HTTP2Session,
        _ to: HTTP2Session,
        _ note: (HTTP2Event, ArraySlice<UInt8>) -> Void
    ) throws {
        let output = OutputBuffer()
        try from.produce(into: output, upTo: 1 << 20)
        let bytes = output.span.array
        var start = 0
        while start < bytes.count {
            let end = min(
                bytes.count,
                start.addingReportingOverflow(step).overflow ? .max : start + step
            )
            let part = Array(bytes[start..<end])
            try to.receive(part.span, now: 1)
            for event in to.takeEvents() {
                if case .content(let stream, let range) = event {
                    to.consumed(range.count, on: stream)
                }
                note(event, part[...])
            }
            start = end
        }
    }

    func request(
        _ method: HTTPMethod = .get,
        _ target: String = "/v1/42?x=1",
        headers: HTTPHeaders = ["Accept": "*/*", "X-Mixed-Case": "Value"],
        framing: BodyFraming = .none,
        hasContent: Bool = false
    ) -> Int32? {
        let head = OutputBuffer()
        HeadEncoder.encodeRequest(
            method: method,
            target: target,
            host: "api.example.com",
            headers: headers,
            framing: framing,
            into: head
        )
        return client.sendRequest(head, method: method, scheme: "https", hasContent: hasContent)
    }

    func respond(
        _ stream: Int32,
        _ status: HTTPStatus = 200,
        headers: HTTPHeaders = ["X-Answer": "yes"],
        framing: BodyFraming,
        hasContent: Bool
    ) {
        let head = OutputBuffer()
        HeadEncoder.encodeResponse(status: status, headers: headers, framing: framing, into: head)
        server.sendResponse(head, on: stream, hasContent: hasContent)
    }

    var requests: [(stream: Int32, head: RequestHead, ends: Bool)] {
        serverEvents.compactMap {
            if case .request(let id, let head, let ends) = $0 { (id, head, ends) } else { nil }
        }
    }

    var responses: [(stream: Int32, head: ResponseHead, ends: Bool)] {
        clientEvents.compactMap {
            if case .response(let id, let head, let ends) = $0 { (id, head, ends) } else { nil }
        }
    }
}

@Suite struct HTTP2SessionTests {
    @Test(arguments: ["1", " 1", "1 ", "\t 1 \t"])
    func `white space around a field value is trimmed in both directions`(value: String) throws {
        let server = HTTP2Session(.server)
        let pseudo = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")]
        let request = RawFrame.head(1, pseudo + [("x", value)], ends: true)
        let bytes = RawFrame.preface + RawFrame.settings + request
        try server.receive(bytes.span, now: 1)
        guard case .request(_, let head, _)? = server.takeEvents().last else {
            Issue.record("no request")
            return
        }
        #expect(head.headers["x"] == "1")
        let client = HTTP2Session(.client)
        let output = OutputBuffer()
        HeadEncoder.encodeRequest(
            method: .get,
            target: "/",
            host: "a",
            headers: HTTPHeaders(),
            framing: .none,
            into: output
        )
        _ = client.sendRequest(output, method: .get, scheme: "http", hasContent: false)
        try client.produce(into: OutputBuffer(), upTo: 1 << 20)
        let response = RawFrame.head(1, [(":status", "200"), ("x", value)], ends: true)
        try client.receive((RawFrame.settings + response).span, now: 1)
        let events = client.takeEvents()
        #expect(
            events.contains { event in
                guard case .response(_, let head, _) = event else { return false }
                return head.headers["x"] == "1"
            }
        )
    }

    @Test(arguments: [Int.max, 1, 2, 7, 9, 10])
    func `an exchange succeeds with every chunk size`(step: Int) throws {
        let pair = Pair(step: step)
        let stream = try #require(pair.request())
        try pair.run()
        let (id, head, ends) = try #require(pair.requests.first)
        #expect(id == stream && ends)
        #expect(head.method == .get)
        #expect(head.target.pathAndQuery == "/v1/42?x=1")
        #expect(head.host?.description == "api.example.com")
        #expect(head.headers[.accept] == "*/*")
        #expect(head.headers[HTTPFieldName("x-mixed-case")] == "Value")
        pair.respond(id, framing: .length(5), hasContent: true)
        pair.server.send(ByteSlice("hello"), on: id)
        pair.server.end(id)
        try pair.run()
        let answer = try #require(pair.responses.first)
        #expect(answer.head.status == 200 && answer.head.framing == .length(5) && !answer.ends)
        #expect(pair.clientContent == Array("hello".utf8))
        #expect(
            pair.clientEvents.contains { if case .ended(stream, nil) = $0 { true } else { false } }
        )
        #expect(
            pair.clientEvents.contains {
                if case .closed(stream, .noError) = $0 { true } else { false }
            }
        )
    }

    @Test(arguments: [Int.max, 1, 4096]) func `content and trailers arrive in both directions`(
        step: Int
    ) throws {
        let pair = Pair(step: step)
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let stream = try #require(
            pair.request(.post, framing: .chunked, hasContent: true)
        )
        pair.client.send(ByteSlice(content), on: stream)
        pair.client.end(stream)
        try pair.run()
        #expect(pair.requests.first?.head.framing == .chunked)
        #expect(pair.serverContent == content)
        pair.respond(stream, framing: .chunked, hasContent: true)
        for start in stride(from: 0, to: content.count, by: 50_000) {
            pair.server.send(ByteSlice(Array(content[start..<(start + 50_000)])), on: stream)
        }
        pair.server.end(stream, trailers: ["Grpc-Status": "0", "X-Checksum": "abc"])
        try pair.run()
        #expect(pair.clientContent == content)
        let trailers = pair.clientEvents.compactMap {
            if case .ended(_, let trailers) = $0 { trailers } else { nil }
        }
        #expect(trailers.first?[HTTPFieldName("grpc-status")] == "0")
        #expect(trailers.first?[HTTPFieldName("x-checksum")] == "abc")
    }

    @Test func `a slow reader receives at most one window`() throws {
        let server = HTTP2Session(.server)
        let client = HTTP2Session(.client)
        let pair = Pair()
        _ = (server, client)
        let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
        pair.client.send(ByteSlice([UInt8](repeating: 1, count: 2 << 20)), on: stream)
        // Sends the bytes by hand, so that the server consumes nothing.
        var received = 0
        for _ in 0..<20 {
            let output = OutputBuffer()
            try pair.client.produce(into: output, upTo: 1 << 20)
            try pair.server.receive(output.span, now: 1)
            for event in pair.server.takeEvents() {
                if case .content(_, let range) = event { received += range.count }
            }
            let back = OutputBuffer()
            try pair.server.produce(into: back, upTo: 1 << 20)
            try pair.client.receive(back.span, now: 1)
        }
        #expect(received == HTTP2Limits().window)
    }

    @Test func `windows grow while the content is read as fast as it arrives`() throws {
        let pair = Pair(memory: ContentBudget(64 << 20))
        let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
        for _ in 0..<32 {
            pair.client.send(ByteSlice([UInt8](repeating: 1, count: 1 << 20)), on: stream)
            try pair.run()
        }
        #expect(pair.serverContent.count == 32 << 20)
        // All of it was read, so the peer may now send much more at once than at first.
        pair.client.send(ByteSlice([UInt8](repeating: 1, count: 8 << 20)), on: stream)
        let output = OutputBuffer()
        try pair.client.produce(into: output, upTo: 16 << 20)
        #expect(output.count > 2 << 20)
    }

    @Test func `a reset ends only its own stream`() throws {
        let pair = Pair()
        let first = try #require(pair.request())
        let second = try #require(pair.request())
        try pair.run()
        pair.client.reset(first, .cancel)
        pair.respond(second, framing: .length(0), hasContent: false)
        try pair.run()
        #expect(
            pair.serverEvents.contains {
                if case .closed(first, .cancel) = $0 { true } else { false }
            }
        )
        #expect(pair.responses.map(\.stream) == [second])
    }

    @Test func `cookies are joined into one line, and the authority replaces Host`() throws {
        let pair = Pair()
        _ = pair.request(headers: ["Cookie": "a=1", "Host": "else.example.com"])
        try pair.run()
        let head = try #require(pair.requests.first?.head)
        #expect(head.headers.values(of: .cookie) == ["a=1"])
        #expect(head.host?.description == "api.example.com")
    }

    @Test func `GOAWAY lets open streams finish`() throws {
        let pair = Pair()
        let stream = try #require(pair.request())
        try pair.run()
        pair.server.goAway(isLast: true)
        try pair.run()
        #expect(
            pair.clientEvents.contains {
                if case .goAway(stream, .noError) = $0 { true } else { false }
            }
        )
        #expect(pair.request() == nil)
        pair.respond(stream, framing: .length(0), hasContent: false)
        try pair.run()
        #expect(pair.responses.count == 1)
    }

    @Test(arguments: [true, false])
    func `content of a refused stream is returned to the connection window`(isStopped: Bool) throws
    {
        var limits = HTTP2Limits()
        limits.connectionWindow = 1 << 16
        let pair = Pair(client: limits, server: limits)
        for _ in 0..<4 {
            let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
            try pair.run()
            if isStopped {
                pair.respond(stream, framing: .length(0), hasContent: false)
                pair.server.stopReceiving(on: stream)
            } else {
                pair.server.reset(stream, .refusedStream)
            }
            // In flight before the client receives the reset.
            pair.client.send(ByteSlice([UInt8](repeating: 1, count: 40_000)), on: stream)
            try pair.run()
        }
        pair.serverContent = []
        let stream = try #require(pair.request(.post, framing: .chunked, hasContent: true))
        pair.client.send(ByteSlice([UInt8](repeating: 1, count: 40_000)), on: stream)
        try pair.run()
        #expect(pair.serverContent.count == 40_000)
    }

    @Test(arguments: [200_000, 65_536, 65_535])
    func `the end of a response that fills the window is sent with its last bytes`(
        length: Int
    ) throws {
        let pair = Pair()
        let stream = try #require(pair.request())
        try pair.run()
        pair.respond(stream, framing: .length(length), hasContent: true)
        pair.server.send(ByteSlice([UInt8](repeating: 1, count: length)), on: stream)
        pair.server.end(stream)
        try pair.run()
        #expect(pair.clientContent.count == length)
        // A peer that has read a part only still sees the end after the last byte.
        let last = pair.clientEvents.filter {
            switch $0 {
            case .content, .ended: true
            default: false
            }
        }
        guard case .ended = last.last else {
            Issue.record("no end")
            return
        }
        #expect(pair.clientEvents.count { if case .closed = $0 { true } else { false } } == 1)
    }

    @Test func `resets by a server do not count as useless frames`() throws {
        var limits = HTTP2Limits()
        limits.idleFrames = 20
        limits.idleFrameRate = 1
        let pair = Pair(client: limits)
        for _ in 0..<200 {
            let stream = try #require(pair.request(.post, hasContent: false))
            try pair.run()
            pair.server.reset(stream, .refusedStream)
            try pair.run()
        }
        #expect(
            pair.clientEvents.count {
                if case .closed(_, .refusedStream) = $0 { true } else { false }
            } == 200
        )
    }
}
