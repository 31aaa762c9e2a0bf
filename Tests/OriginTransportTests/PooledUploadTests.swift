import NetproxyEventIO
import NetworkCore
import OriginTransport
import TestSupport
import Testing

/// Tests of content that streams to an origin over sockets.
@Suite struct PooledUploadTests {
    @Test(arguments: [["abc"], ["abc", "", "def"], []])
    func `a body that differs from its length ends the connection`(
        pieces: [String]
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil {
                try await wire.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let transport = try PooledTransport()
        let base = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        var context = RequestContext()
        await #expect(throws: NetworkError.self) {
            _ = try await transport.send(
                Request(
                    method: .put,
                    origin: base,
                    target: "/1",
                    headers: [:],
                    body: .stream(PiecedBody(pieces), length: 5)
                ),
                context: &context
            )
        }
        #expect(origin.requests.isEmpty)
        #expect(origin.connections.allSatisfy { !$0.received.contains("def") })
    }

    @Test func `an upload on a connection reset after its last response fails immediately`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            _ = try await wire.message()
            // In one turn of the loop, which the transport shares, so that one edge covers both.
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try await wire.reset()
        }
        let loop = try TestLoop.shared()
        let transport = try PooledTransport(options: UpstreamOptions(), on: loop)
        let authority = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        let upload = Task(executorPreference: loop) {
            var context = RequestContext()
            let first = Request(method: .get, origin: authority, target: "/")
            #expect(try await transport.send(first, context: &context).status == 200)
            let body = HTTPBody.stream(PiecedBody(["ab", "cd"]), length: nil)
            let second = Request(method: .post, origin: authority, target: "/", body: body)
            return try await transport.send(second, context: &context)
        }
        let guardian = Task {
            try await Task.sleep(for: Wire.patience)
            upload.cancel()
        }
        defer { guardian.cancel() }
        let error = await #expect(throws: NetworkError.self) { try await upload.value }
        #expect(error?.kind == .connectionTerminated)
        #expect(error?.retry == .idempotentOnly)
    }

    /// The cause that cancels an upload.
    enum CallingOff: CaseIterable {
        case caller, deadline
    }

    @Test(arguments: CallingOff.allCases)
    func `a canceled body does not end like a complete one`(
        by cause: CallingOff
    ) async throws {
        let begun = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "half of a file")
            begun.open()
            try await wire.rest()
        }
        // A separate loop, so that the test can advance its clock.
        let loop = try EventLoop(index: 97)
        try loop.start()
        let transport = try PooledTransport(options: UpstreamOptions(), on: loop, .own)
        let request = Request(
            method: .post,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/1",
            // Like an `AsyncStream`, it ends when its reader is canceled.
            body: .stream(StalledBody("half of a file", whenCancelled: .success(())), length: nil)
        )
        let call = Task {
            var context = RequestContext()
            context.deadline = .now + .seconds(3600)
            _ = try await transport.send(request, context: &context)
        }
        try await begun.wait()
        switch cause {
        case .caller: _ = await loop.call { _ in call.cancel() }
        case .deadline: _ = await loop.call { $0.advance(by: .seconds(3601)) }
        }
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.kind == (cause == .caller ? .cancelled : .httpResponseTimeout))
        let wire = try #require(origin.connections.first)
        try await wire.closed.wait()
        #expect(wire.received.hasSuffix("half of a file\r\n"))
    }

    @Test func `an early refusal is read to its end after the content is canceled`()
        async throws
    {
        let answered = Gate()
        let origin = try await OriginServer.start { wire in
            try await wire.read(through: "half")
            try await wire.send(
                "HTTP/1.1 413 Content Too Large\r\nContent-Length: 20\r\n\r\n0123456789"
            )
            try await answered.wait()
            try await wire.send("abcdefghij")
            try await wire.rest()
        }
        let transport = try PooledTransport()
        let fault = NetworkError(.connectionTerminated, side: .downstream, detail: "given up")
        let request = Request(
            method: .post,
            origin: Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port)),
            target: "/1",
            body: .stream(StalledBody("half", whenCancelled: .failure(fault)), length: nil)
        )
        var context = RequestContext()
        let response = try await transport.send(request, context: &context)
        #expect(response.status == 413)
        // The content has been canceled by now.
        answered.open()
        #expect(try await response.body.collect(upTo: 99) == ByteSlice("0123456789abcdefghij"))
    }

    @Test func `an empty piece does not end a chunked body`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let transport = try PooledTransport()
        let base = Origin(scheme: .http, host: "127.0.0.1", port: UInt16(origin.port))
        var context = RequestContext()
        _ = try await transport.send(
            Request(
                method: .put,
                origin: base,
                target: "/1",
                headers: [:],
                body: .stream(PiecedBody(["ab", "", "cd"]), length: nil)
            ),
            context: &context
        )
        #expect(origin.requests.map(\.body) == ["abcd"])
    }
}
