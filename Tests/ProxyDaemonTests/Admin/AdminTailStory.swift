import TestSupport
import Testing

@Suite struct AdminTailStory {
    private func run(_ story: (DaemonHarness) async throws -> Void) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(origin.port) }
                bills: { upstream: http://127.0.0.1:\(origin.port) }
                """,
            story
        )
    }

    @Test func `the tail shows an exchange as it ends`() async throws {
        try await run { proxy in
            let tail = try await proxy.admin(sending: Raw.get("/tail"))
            let head = try await tail.read(through: "\r\n\r\n")
            #expect(head.contains("HTTP/1.1 200"))
            #expect(head.contains("application/x-ndjson"))
            _ = try await proxy.exchange(Raw.get("/orders/1"))
            let line = try await tail.read(through: "}\n")
            #expect(line.contains(#""path":"/1""#))
            #expect(line.contains(#""channel":"orders""#))
            await proxy.stop()
            #expect(try await tail.rest().text.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func `the tail keeps to a channel and a condition`() async throws {
        try await run { proxy in
            let tail = try await proxy.admin(
                sending: Raw.get("/tail?channel=bills&where=path%7E/2&where=status%3C300")
            )
            try await tail.read(through: "\r\n\r\n")
            for path in ["/orders/2", "/bills/1", "/bills/2"] {
                _ = try await proxy.exchange(Raw.get(path))
            }
            await proxy.stop()
            let rest = try await tail.rest().text
            #expect(rest.components(ofLines: "request_id").count == 1)
            #expect(rest.contains(#""channel":"bills""#))
            #expect(rest.contains(#""path":"/2""#))
        }
    }

    @Test func `looking at the head of the tail takes no place`() async throws {
        try await run { proxy in
            for _ in 1...20 {
                let app = try await proxy.admin(sending: Raw.request("HEAD", "/tail"))
                #expect(try await app.message(.none).status == 200)
            }
            let tail = try await proxy.admin(sending: Raw.get("/tail"))
            #expect(try await tail.read(through: "\r\n\r\n").contains("HTTP/1.1 200"))
        }
    }

    @Test(arguments: [
        ("/tail?channel=nobody", 404, "there are: orders, bills"),
        ("/tail?where=status+4", 400, "expected one of"),
        ("/tail?chanel=orders", 400, "found 'chanel'"),
    ])
    func `a wrong question is told`(target: String, status: Int, words: String) async throws {
        try await run { proxy in
            let answer = try await proxy.ask(Raw.get(target))
            #expect(answer.status == status)
            #expect(answer.body.contains(words))
        }
    }
}

extension String {
    /// The lines that contain a text.
    fileprivate func components(ofLines text: String) -> [Substring] {
        split(separator: "\n").filter { $0.contains(text) }
    }
}
