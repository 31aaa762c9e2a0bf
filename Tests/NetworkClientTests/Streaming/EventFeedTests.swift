import NetworkClient
import NetworkTesting
import Testing

@Suite struct EventFeedTests {
    private let clock = ManualClock(sleeping: .skipped)
    private let stub = StubTransport()
    private let endpoint = PathEndpoint("/feed", of: "https://a.example")
    private let refused = StubAnswer.failure(
        NetworkError(.connectionRefused, side: .upstream, retry: .safe, detail: "refused")
    )
    private let cut = NetworkError(.httpResponseIncomplete, side: .upstream, detail: "cut")

    private func manager(_ clock: ManualClock? = nil) -> NetworkManager<PathEndpoint> {
        var channel = NetworkChannel.stubbed(stub)
        channel.retry = nil
        channel.clock = clock ?? self.clock
        return NetworkManager(channel)
    }

    private func events(_ text: String, then error: NetworkError? = nil) -> StubAnswer {
        .pieces([text], headers: [.contentType: "text/event-stream"], then: error)
    }

    private func data(
        reconnecting reconnection: EventReconnection = EventReconnection()
    ) async throws -> [String] {
        var data: [String] = []
        for try await event in manager().events(endpoint, reconnecting: reconnection) {
            data.append(event.data)
        }
        return data
    }

    private var lastIDs: [String?] { stub.requests.map { $0.request.headers["Last-Event-ID"] } }

    @Test func `a feed resumes after its last event until the server responds with 204`()
        async throws
    {
        stub.answer(
            .get,
            "/feed",
            with: events("id: 1\ndata: a\n\n"),
            events("data: b\n\nid: 3\n\ndata: open", then: cut),
            .status(204)
        )
        #expect(try await data() == ["a", "b"])
        #expect(lastIDs == [nil, "1", "3"])
        #expect(clock.slept == [.seconds(3), .seconds(3)])
        let fields = try #require(stub.requests.first).request.headers
        #expect(fields[.accept] == "text/event-stream")
        #expect(fields[.cacheControl] == "no-store")
    }

    @Test func `the ID of an incomplete event is not the last one`() async throws {
        stub.answer(.get, "/feed", with: events("id: 1\n\nid: 2\ndata: a\n"), .status(204))
        #expect(try await data() == [])
        #expect(lastIDs == [nil, "1"])
    }

    @Test func `a feed starts after the last event ID of an earlier one`() async throws {
        stub.answer(.get, "/feed", with: .status(204))
        #expect(try await data(reconnecting: EventReconnection(lastEventID: "7")) == [])
        #expect(lastIDs == ["7"])
        let error = await #expect(throws: NetworkError.self) {
            try await data(reconnecting: EventReconnection(lastEventID: "7\r\nX: 1"))
        }
        #expect(error?.kind == .httpRequestError)
    }

    @Test func `the stream sets the reconnection time, even without an event`() async throws {
        stub.answer(
            .get,
            "/feed",
            with: events("retry: 250\n\n"),
            events("retry: soon\ndata: a\n\n"),
            events("retry: 99999999999999999999\nretry: 9223372036854775807\n\n"),
            .status(204)
        )
        #expect(try await data() == ["a"])
        #expect(clock.slept == [.milliseconds(250), .milliseconds(250), .seconds(86400)])
    }

    @Test func `failures in a row double the wait, and an open stream resets it`() async throws {
        stub.answer(
            .get,
            "/feed",
            with: refused,
            refused,
            refused,
            refused,
            events("data: a\n\n"),
            refused,
            .status(204)
        )
        #expect(
            try await data(
                reconnecting: EventReconnection(delay: .seconds(1), maximum: .seconds(5))
            ) == ["a"]
        )
        #expect(clock.slept == [1, 2, 4, 5, 1, 1].map { .seconds($0) })
    }

    @Test func `a feed with a retry time of zero still waits between failures`()
        async throws
    {
        stub.answer(.get, "/feed", with: events("retry: 0\n\n"), refused, refused, .status(204))
        #expect(try await data() == [])
        let least = Duration.milliseconds(100)
        #expect(clock.slept == [least, least, .milliseconds(200)])
    }

    @Test func `a feed with a retry time of zero does not wait after an event`() async throws {
        stub.answer(.get, "/feed", with: events("retry: 0\ndata: a\n\n"), .status(204))
        #expect(try await data() == ["a"])
        #expect(clock.slept == [.zero])
    }

    @Test(arguments: [("5 ", "5"), (" 5", "5"), ("a\u{1}b", nil), ("é", "é")])
    func `an ID that does not fit a field is omitted`(id: String, sent: String?) async throws {
        stub.answer(.get, "/feed", with: events("id: \(id)\ndata: a\n\n"), .status(204))
        #expect(try await data() == ["a"])
        #expect(lastIDs == [nil, sent])
    }

    @Test func `a feed ends after the maximum number of failures`() async throws {
        stub.answer(.get, "/feed", with: events("data: a\n\n"), refused)
        let feed = manager().events(endpoint, reconnecting: EventReconnection(attempts: 2))
        var iterator = feed.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        let error = await #expect(throws: NetworkError.self) { try await iterator.next() }
        #expect(error?.kind == .connectionRefused)
        #expect(stub.requests.count == 4)
        #expect(try await iterator.next() == nil)
    }

    @Test(arguments: [
        StubAnswer.status(500), .status(200), .json("{}"),
        .failure(NetworkError(.tlsCertificateError, side: .upstream, detail: "untrusted")),
        .failure(NetworkError(.reauthorizationRequired, side: .proxy, detail: "sign in")),
    ])
    func `a permanent failure ends the feed`(_ answer: StubAnswer) async throws {
        stub.answer(.get, "/feed", with: answer)
        await #expect(throws: NetworkError.self) { try await data() }
        #expect(stub.requests.count == 1)
        #expect(clock.slept.isEmpty)
    }

    @Test func `a canceled task ends its waiting feed`() async throws {
        let clock = ManualClock()
        stub.answer(.get, "/feed", with: refused)
        let feed = manager(clock).events(endpoint)
        let task = Task {
            for try await _ in feed {}
        }
        await clock.untilSomebodySleeps()
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(stub.requests.count == 1)
    }
}
