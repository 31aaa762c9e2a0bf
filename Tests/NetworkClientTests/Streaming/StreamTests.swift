import NetworkClient
import NetworkTesting
import TestSupport
import Testing

@Suite struct StreamTests {
    private func stream(
        _ pieces: [String],
        status: HTTPStatus = 200,
        then error: NetworkError? = nil
    ) async throws(NetworkError) -> ResponseStream {
        let stub = StubTransport { _ in .pieces(pieces, status: status, then: error) }
        return try await NetworkManager<PathEndpoint>(.stubbed(stub))
            .stream(PathEndpoint("/events", of: "https://a.example"))
    }

    private func cuts(_ text: String) -> [[String]] {
        (0...text.unicodeScalars.count).map { position in
            let scalars = Array(text.unicodeScalars)
            return [scalars[..<position], scalars[position...]].map { part in
                String(String.UnicodeScalarView(part))
            }
        }
    }

    @Test func `bytes arrive in the pieces in which they were sent`() async throws {
        var seen: [String] = []
        for try await piece in try await stream(["ab", "c"]).bytes {
            seen.append(String(decoding: piece.array, as: UTF8.self))
        }
        #expect(seen == ["ab", "c"])
    }

    /// Compiles only if nothing but a `NetworkError` is thrown.
    private func read(_ stream: ResponseStream) async throws(NetworkError) -> [String] {
        var seen: [String] = []
        for try await piece in stream.bytes { seen.append("\(piece.count)") }
        for try await line in stream.lines { seen.append(line) }
        for try await event in stream.events { seen.append(event.data) }
        return seen
    }

    @Test func `a stream throws only NetworkError`() async throws {
        let cut = NetworkError(.httpResponseIncomplete, side: .upstream, detail: "cut")
        let error = await #expect(throws: NetworkError.self) {
            try await read(try await stream(["a\n"], then: cut))
        }
        #expect(error?.kind == .httpResponseIncomplete)
    }

    @Test func `a source that ends on cancellation is not complete`() async throws {
        let body = StalledBody("abc", whenCancelled: .success(()))
        let task = Task { try await HTTPBody.stream(body, length: nil).collect(upTo: 10) }
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
    }

    @Test func `lines end at LF, CR LF and CR, at any piece boundary`() async throws {
        for pieces in cuts("a\r\nb\rc\n\nd") {
            var lines: [String] = []
            for try await line in try await stream(pieces).lines { lines.append(line) }
            #expect(lines == ["a", "b", "c", "", "d"], "\(pieces)")
        }
    }

    @Test func `events follow the standard at any piece boundary`() async throws {
        let text = """
            \u{FEFF}: a comment\r
            event: add\r
            data: 1\r
            data:2\r
            id: 7\r
            retry: 1500\r
            \r
            data\r
            \r
            event: dropped\r
            \r
            data: \u{308}x:y\r
            retry: 1x\r
            \r
            data: cut off
            """
        for pieces in cuts(text) {
            var events: [ServerSentEvent] = []
            for try await event in try await stream(pieces).events { events.append(event) }
            #expect(
                events == [
                    ServerSentEvent(
                        type: "add",
                        data: "1\n2",
                        id: "7",
                        retry: .milliseconds(1500)
                    ),
                    ServerSentEvent(data: "", id: "7"),
                    ServerSentEvent(data: "\u{308}x:y", id: "7"),
                ],
                "\(pieces)"
            )
        }
    }

    @Test func `a stream that breaks off throws after its received lines`() async throws {
        let cut = NetworkError(.httpResponseIncomplete, side: .upstream, detail: "cut")
        var lines: [String] = []
        let stream = try await stream(["a\nb"], then: cut)
        let error = await #expect(throws: NetworkError.self) {
            for try await line in stream.lines { lines.append(line) }
        }
        #expect(error?.kind == .httpResponseIncomplete)
        #expect(lines == ["a"])
    }

    @Test func `a truncated line is dropped`() async throws {
        let text = "retry: 5000\ndata: a\n\nid: 7\nretry: 5"
        var events: [ServerSentEvent] = []
        for try await event in try await stream([text]).events { events.append(event) }
        #expect(events.map(\.retry) == [.seconds(5)])
        let clock = ManualClock(sleeping: .skipped)
        let stub = StubTransport()
        let type: HTTPHeaders = [.contentType: "text/event-stream"]
        stub.answer(.get, "/events", with: .pieces([text], headers: type), .status(204))
        var channel = NetworkChannel.stubbed(stub)
        channel.clock = clock
        let feed = NetworkManager<PathEndpoint>(channel)
            .events(PathEndpoint("/events", of: "https://a.example"))
        for try await _ in feed {}
        #expect(clock.slept == [.seconds(5)])
    }

    @Test func `a canceled stream throws a NetworkError`() async throws {
        let stream = try await stream(["a"])
        let reading = Task {
            while !Task.isCancelled { await Task.yield() }
            for try await _ in stream.lines {}
        }
        reading.cancel()
        let error = await #expect(throws: NetworkError.self) { try await reading.value }
        #expect(error?.kind == .cancelled)
    }

    // Takes a second, because it streams up to the limit.
    @Test func `an endless event is refused at its limit`() async throws {
        let line = "data: \(String(repeating: "x", count: 1024 * 1024 - 8))\n"
        let stream = try await stream(Array(repeating: line, count: 17))
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in stream.events {}
        }
        #expect(error?.kind == .httpResponseBodySize)
    }

    @Test func `an endless line is refused at its limit`() async throws {
        let stream = try await stream([String(repeating: "x", count: 1024 * 1024 + 1)])
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in stream.lines {}
        }
        #expect(error?.kind == .httpResponseBodySize)
    }

    @Test func `an unsuccessful stream is thrown with its response`() async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await stream(["no"], status: 403)
        }
        #expect(error?.response?.text == "no")
    }
}
