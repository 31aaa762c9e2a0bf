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

    @Test func `the tail shows an exchange when it ends`() async throws {
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

    @Test func `the tail filters by channel and condition`() async throws {
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

    @Test func `the tail begins with the last exchanges, oldest first`() async throws {
        try await run { proxy in
            for path in ["/orders/1", "/bills/2", "/nowhere", "/orders/3"] {
                _ = try await proxy.exchange(Raw.get(path))
            }
            let tail = try await proxy.admin(sending: Raw.get("/tail?last=3"))
            let earlier = try await tail.read(through: #""path":"/3""#)
            _ = try await proxy.exchange(Raw.get("/orders/4"))
            await proxy.stop()
            let text = earlier + (try await tail.rest().text)
            let paths = text.matches(of: /"path":"([^"]+)"/).map { String($0.1) }
            #expect(paths == ["/2", "/nowhere", "/3", "/4"])
        }
    }

    @Test func `a filter also applies to the last exchanges`() async throws {
        try await run { proxy in
            for path in ["/orders/1", "/bills/2", "/nowhere", "/orders/3"] {
                _ = try await proxy.exchange(Raw.get(path))
            }
            let tail = try await proxy.admin(
                sending: Raw.get("/tail?last=2&channel=orders&where=status%3C400")
            )
            let text = try await tail.read(through: #""path":"/3""#)
            #expect(text.matches(of: /"path":"([^"]+)"/).map { String($0.1) } == ["/1", "/3"])
            let own = try await proxy.admin(sending: Raw.get("/tail?last=2&channel=netproxy"))
            let unclaimed = try await own.read(through: #""path":"/nowhere""#)
            #expect(unclaimed.components(ofLines: "request_id").count == 1)
        }
    }

    @Test func `a failure stays among the last exchanges when many others follow`() async throws {
        try await DaemonHarness.run(channels: "orders: { stub: [{ body: '' }] }") { proxy in
            _ = try await proxy.exchange(Raw.get("/nowhere"))
            // Slow: it needs more exchanges than a loop remembers.
            let app = try await proxy.connect()
            try await app.send(String(repeating: Raw.get("/orders/1"), count: 1030))
            try await app.send(Raw.get("/orders/last", "Connection: close"))
            _ = try await app.rest()
            let tail = try await proxy.admin(sending: Raw.get("/tail?last=1&where=status%3D404"))
            #expect(try await tail.read(through: "}\n").contains(#""path":"/nowhere""#))
            let last = try await proxy.admin(sending: Raw.get("/tail?last=1"))
            #expect(try await last.read(through: "}\n").contains("/last"))
        }
    }

    @Test func `the tail shows every exchange exactly once under load`() async throws {
        try await run { proxy in
            let traffic = Task {
                let app = try await proxy.connect()
                for number in 1...200 {
                    try await app.send(Raw.get("/orders/\(number)"))
                    _ = try await app.message()
                }
            }
            var tails: [Wire] = []
            for _ in 1...8 {
                tails.append(try await proxy.admin(sending: Raw.get("/tail?last=1000")))
                _ = try await proxy.exchange(Raw.get("/bills/1"))
            }
            try await traffic.value
            await proxy.stop()
            for tail in tails {
                let text = try await tail.rest().text
                let told = text.components(ofLines: #""channel":"orders""#)
                    .compactMap { line in
                        line.firstMatch(of: /"path":"\/(\d+)"/).flatMap { Int($0.1) }
                    }
                #expect(told == Array(1...200))
            }
        }
    }

    @Test func `the last exchanges can be exported as an HTTP Archive`() async throws {
        try await run { proxy in
            for path in ["/orders/1", "/bills/2"] { _ = try await proxy.exchange(Raw.get(path)) }
            let answer = try await proxy.ask(Raw.get("/har?channel=bills"))
            #expect(answer.status == 200)
            #expect(answer["Content-Disposition"] == "attachment; filename=\"netproxy.har\"")
            #expect(answer.body.hasPrefix(#"{"log":{"version":"1.2""#))
            #expect(answer.body.components(ofLines: "startedDateTime").count == 1)
            #expect(answer.body.contains(#"/2","httpVersion""#))
            let empty = try await proxy.ask(Raw.get("/har?where=error"))
            #expect(empty.body.hasSuffix(#""entries":[]}}"# + "\n"))
        }
    }

    @Test func `a HEAD request for the tail uses no place`() async throws {
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
        ("/tail?where=status%3D", 400, "expected a value after 'status='"),
        ("/tail?chanel=orders", 400, "found 'chanel'"),
        ("/tail?last=many", 400, "expected a number from 0 to 1000, found 'many'"),
        ("/tail?last=1001", 400, "found '1001'"), ("/tail?last=-1", 400, "found '-1'"),
        ("/har?where=statsu", 400, "did you mean 'status'?"),
        ("/har?channel=nobody", 404, "there are: orders, bills"),
    ])
    func `an invalid parameter of the tail is refused with the reason`(
        target: String,
        status: Int,
        words: String
    ) async throws {
        try await run { proxy in
            let answer = try await proxy.ask(Raw.get(target))
            #expect(answer.status == status)
            #expect(answer.body.contains(words))
        }
    }
}

extension String {
    /// Returns the lines that contain a text.
    fileprivate func components(ofLines text: String) -> [Substring] {
        split(separator: "\n").filter { $0.contains(text) }
    }
}
