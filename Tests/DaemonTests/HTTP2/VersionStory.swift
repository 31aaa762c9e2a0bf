import NetproxyHTTP2
import NetproxyHTTPMessage
import TestSupport
import Testing

/// The same exchange over HTTP/1 and HTTP/2 on either side.
///
/// The response is the same, and so is the record except for the version.
@Suite struct VersionStory {
    enum Side: CaseIterable { case http1, http2 }

    /// An exchange with its request and the origin's response.
    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var method: HTTPMethod = .get
        var target = "/orders/1?page=2"
        var headers: HTTPHeaders = ["Accept": "*/*"]
        var content = ""
        var status: HTTPStatus = 200
        var answerHeaders: HTTPHeaders = ["Content-Type": "text/plain", "X-Answer": "yes"]
        var answer = "hello"
        var isChunked = false
        var trailers: HTTPHeaders?

        var testDescription: String { name }

        static let all = [
            Case(name: "GET"),
            Case(name: "HEAD", method: .head, answer: ""),
            Case(name: "POST", method: .post, content: "what is sent"),
            Case(
                name: "a long request",
                method: .put,
                content: String(repeating: "r", count: 200_000)
            ),
            Case(name: "a long answer", answer: String(repeating: "a", count: 300_000)),
            Case(name: "an answer of unknown length", isChunked: true),
            Case(
                name: "trailers",
                headers: ["TE": "trailers"],
                isChunked: true,
                trailers: ["X-Checksum": "abc"]
            ),
            Case(name: "no content", status: 204, answer: ""),
            Case(name: "not modified", status: 304, answer: ""),
            Case(name: "an error", status: 500, answer: "it broke"),
            Case(
                name: "fields of any length",
                headers: ["X-Long": String(repeating: "l", count: 8000)]
            ),
            Case(
                name: "cookies",
                headers: ["Cookie": "a=1; b=2"],
                answerHeaders: ["Set-Cookie": "c=3"]
            ),
            Case(name: "bytes of a path", target: "/orders/a%20b/%E2%82%AC?q=%41x&r=a+b"),
        ]
    }

    /// The observations of the client and the origin.
    private struct Seen: Equatable {
        var status = 0
        var body = ""
        var fields: [String: String] = [:]
        var trailer: String?
        var method = ""
        var target = ""
        var content = ""
        var sent: [String: String] = [:]
    }

    @Test(arguments: Case.all)
    func `an exchange is the same over every version`(story: Case) async throws {
        var seen: [Seen] = []
        var records: [String] = []
        for app in Side.allCases {
            for origin in Side.allCases {
                let (one, record) = try await exchange(story, app, origin)
                seen.append(one)
                records.append(record)
            }
        }
        for other in seen.dropFirst() { #expect(other == seen[0]) }
        for other in records.dropFirst() { #expect(other == records[0]) }
    }

    private func exchange(
        _ story: Case,
        _ app: Side,
        _ version: Side
    ) async throws -> (Seen, String) {
        let received = Received()
        let origin = try await self.origin(story, version, received)
        var seen = Seen()
        var record = ""
        try await DaemonHarness.run(
            channels: """
                orders:
                  upstream: http://127.0.0.1:\(origin.port)/v1
                  http: \(version == .http1 ? "http1" : "http2")
                  headers: { default: { User-Agent: story }, set: { X-Set: "1" }, remove: [X-Removed] }
                """
        ) { proxy in
            seen = try await ask(story, app, proxy)
            let line = try await proxy.onlyLine("orders")
            #expect(line.text.contains(#""protocol":"HTTP/\#(version == .http1 ? "1.1" : "2")""#))
            let facts = line.facts
            record =
                "\(facts.method ?? "") \(facts.path ?? "") \(facts.status ?? 0) "
                + "\(facts.upstreamStatus ?? 0) \(facts.bytesIn ?? -1) \(facts.bytesOut ?? -1) "
                + "\(facts.attempts ?? 0) \(facts.error ?? "-") \(facts.level ?? "")"
        }
        let request = await received.value
        seen.method = request.method
        seen.target = request.target
        seen.content = request.body
        for name in ["accept", "user-agent", "x-set", "cookie", "x-long", "content-length", "te"] {
            seen.sent[name] = request[name]
        }
        // One version uses chunks and the other a length; both define the end of the content.
        seen.sent["content-length"] = nil
        return (seen, record)
    }

    private actor Received {
        var value = HTTP2Peer.Message(stream: 0, headers: [:])

        func note(_ message: HTTP2Peer.Message) { value = message }
    }

    private func origin(
        _ story: Case,
        _ version: Side,
        _ received: Received
    ) async throws -> OriginServer {
        guard version == .http1 else {
            return try await OriginServer.startHTTP2 { peer, message in
                await received.note(message)
                try await peer.respond(
                    to: message.stream,
                    story.status,
                    story.answerHeaders,
                    story.answer,
                    trailers: story.trailers,
                    isChunked: story.isChunked
                )
            }
        }
        return try await OriginServer.start { wire in
            while let request = try await wire.next() {
                let words = request.startLine.split(separator: " ").map(String.init)
                var headers: HTTPHeaders = [:]
                for name in ["accept", "user-agent", "x-set", "cookie", "x-long", "te"] {
                    if let value = request[name] { headers.append(HTTPHeaders([name: value])) }
                }
                var message = HTTP2Peer.Message(stream: 0, headers: headers)
                (message.method, message.target) = (words[0], words[1])
                message.content = Array(request.body.utf8)
                await received.note(message)
                try await wire.send(VersionStory.text(of: story))
            }
        }
    }

    private static func text(of story: Case) -> String {
        var text = "HTTP/1.1 \(story.status.rawValue) X\r\n"
        for field in story.answerHeaders { text += "\(field.name): \(field.value)\r\n" }
        let isBare = story.status == 204 || story.status == 304
        if story.isChunked {
            text += "Transfer-Encoding: chunked\r\n\r\n"
            text += "\(String(story.answer.utf8.count, radix: 16))\r\n\(story.answer)\r\n0\r\n"
            for field in story.trailers ?? [:] { text += "\(field.name): \(field.value)\r\n" }
            return text + "\r\n"
        }
        if !isBare { text += "Content-Length: \(story.answer.utf8.count)\r\n" }
        return text + "\r\n" + story.answer
    }

    private func ask(_ story: Case, _ app: Side, _ proxy: DaemonHarness) async throws -> Seen {
        var seen = Seen()
        let target = story.target.replacing("/orders", with: "/orders", maxReplacements: 1)
        guard app == .http1 else {
            let peer = HTTP2Peer(try await proxy.connect(), as: .client)
            try await peer.flush()
            let stream = try await peer.request(
                story.method,
                target,
                story.headers,
                content: story.content
            )
            let message = try await peer.message(on: stream)
            (seen.status, seen.body) = (message.status, message.body)
            for name in ["content-type", "x-answer", "set-cookie"] {
                seen.fields[name] = message[name]
            }
            seen.trailer = message.trailers?["x-checksum"]
            return seen
        }
        let wire = try await proxy.connect()
        var fields = story.headers.map { "\($0.name): \($0.value)" }
        if story.headers.contains(HTTPFieldName.te) { fields.append("Connection: TE") }
        try await wire.send(
            Raw.request(
                story.method.rawValue,
                target,
                fields: fields,
                body: story.content.isEmpty ? nil : story.content
            )
        )
        let message = try await wire.message(story.method == .head ? .none : .asFramed)
        (seen.status, seen.body) = (message.status, message.body)
        for name in ["content-type", "x-answer", "set-cookie"] { seen.fields[name] = message[name] }
        if story.trailers != nil,
            wire.received.contains("X-Checksum: abc")
                || wire.received.contains("x-checksum: abc")
        {
            seen.trailer = "abc"
        }
        return seen
    }
}
