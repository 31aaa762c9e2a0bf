import Foundation
import NetworkClient
import NetworkTesting
import Synchronization
import TestSupport
import Testing

@Suite struct DownloadTests {
    private static let cut = NetworkError(
        .httpResponseIncomplete,
        side: .upstream,
        detail: "cut"
    )
    /// The content cannot have changed again in the second of its last modification.
    private static let dated: HTTPHeaders = [
        .lastModified: "Sat, 21 Nov 2026 06:00:00 GMT", .date: "Sat, 21 Nov 2026 06:00:01 GMT",
    ]
    private let target = FileManager.default.temporaryDirectory
        .appending(path: "netproxy-download-\(UUID().uuidString)").path()
    private let endpoint = PathEndpoint("/file", of: "https://a.example")

    private func manager(
        _ stub: StubTransport,
        resumptions: Int = 2
    ) -> NetworkManager<PathEndpoint> {
        var channel = NetworkChannel.stubbed(stub)
        channel.downloadResumptions = resumptions
        return NetworkManager(channel)
    }

    private func content(_ path: String) throws -> String {
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func `a download becomes a file when it is complete`() async throws {
        let stub = StubTransport { _ in .pieces(["abc", "def"]) }
        let file = try await manager(stub).download(endpoint, to: target)
        #expect(file.length == 6)
        #expect(file.status == 200)
        #expect(try content(target) == "abcdef")
        #expect(!FileManager.default.fileExists(atPath: "\(target).part"))
    }

    @Test func `a source that ends on cancellation leaves no file`() async throws {
        let body = StalledBody("abc", whenCancelled: .success(()))
        let stub = StubTransport { _ in
            .response(Response(status: 200, body: .stream(body, length: nil)))
        }
        let manager = manager(stub)
        let (came, told) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var options = CallOptions()
            options.progress = { _ in told.yield() }
            return try await manager.download(endpoint, to: target, options: options)
        }
        for await _ in came { break }
        task.cancel()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(!FileManager.default.fileExists(atPath: "\(target).part"))
        #expect(body.isGivenUp)
    }

    @Test func `an interrupted download is resumed`() async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["abc"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["def"], status: 206, headers: [.contentRange: "bytes 3-5/6"])
        )
        let file = try await manager(stub).download(endpoint, to: target)
        #expect(file.resumptions == 1)
        #expect(try content(target) == "abcdef")
        let second = stub.requests[1].request.headers
        #expect(second[.range] == "bytes=3-")
        #expect(second[.ifRange] == "\"1\"")
        #expect(second[.acceptEncoding] == "identity")
    }

    @Test func `the error of an interrupted download can be resumed later`() async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["abc"], headers: Self.dated, then: Self.cut),
            .pieces(["def"], status: 206, headers: [.contentRange: "bytes 3-5/6"])
        )
        let manager = manager(stub, resumptions: 0)
        let error = await #expect(throws: NetworkError.self) {
            try await manager.download(endpoint, to: target)
        }
        let point = try #require(error?.resumePoint)
        #expect(point.received == 3)
        let stored = try JSONDecoder().decode(
            ResumePoint.self,
            from: JSONEncoder().encode(point)
        )
        _ = try await manager.download(endpoint, to: target, resuming: stored)
        #expect(stub.requests[1].request.headers[.ifRange] == Self.dated[.lastModified])
        #expect(try content(target) == "abcdef")
    }

    @Test func `a download of changed content starts over`() async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["old"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["new content"], headers: [.etag: "\"2\""])
        )
        _ = try await manager(stub).download(endpoint, to: target)
        #expect(try content(target) == "new content")
    }

    /// Like servers that ignore `If-Range`.
    @Test(arguments: ["\"2\"", "W/\"1\""])
    func `a range of changed content is not appended`(tag: String) async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["old"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["new"], status: 206, headers: [.contentRange: "bytes 3-5/6", .etag: tag]),
            .pieces(["new content"], headers: [.etag: "\"2\""])
        )
        _ = try await manager(stub).download(endpoint, to: target)
        #expect(try content(target) == "new content")
        #expect(stub.requests[2].request.headers[.range] == nil)
    }

    @Test func `a range of content with another length is not appended`() async throws {
        let stub = StubTransport()
        let (first, second): (HTTPHeaders, HTTPHeaders) = (
            [.contentRange: "bytes 3-5/9"], [.contentRange: "bytes 6-8/10"]
        )
        stub.answer(
            .get,
            "/file",
            with: .pieces(["old"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["mid"], status: 206, headers: first, then: Self.cut),
            .pieces(["new"], status: 206, headers: second),
            .pieces(["new content"], headers: [.etag: "\"1\""])
        )
        _ = try await manager(stub, resumptions: 4).download(endpoint, to: target)
        #expect(try content(target) == "new content")
    }

    @Test(
        arguments: [
            [.lastModified: "Sat, 21 Nov 2026 06:00:00 GMT"],
            [
                .lastModified: "Sat, 21 Nov 2026 06:00:00 GMT",
                .date: "Sat, 21 Nov 2026 06:00:00 GMT",
            ],
            [.lastModified: "then", .date: "Sat, 21 Nov 2026 06:00:01 GMT"],
            [.etag: "1"],
        ] as [HTTPHeaders]
    )
    func `a weak validator does not prove that the content is the same`(headers: HTTPHeaders)
        async throws
    {
        let stub = StubTransport { _ in .pieces(["abc"], headers: headers, then: Self.cut) }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(error?.resumePoint == nil)
        #expect(stub.requests.count == 1)
    }

    @Test func `a complete file needs no more content`() async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["abc"], headers: [.etag: "\"1\""], then: Self.cut),
            .status(416, headers: [.contentRange: "bytes */3"])
        )
        let file = try await manager(stub).download(endpoint, to: target)
        #expect(file.status == 416)
        #expect(try content(target) == "abc")
    }

    @Test(arguments: ["bytes 2-5/6", "bytes 4-5/6", "nonsense"])
    func `a range other than the requested one is refused`(range: String) async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["abc"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["def"], status: 206, headers: [.contentRange: range])
        )
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(error?.kind == .httpProtocolError)
        #expect(!FileManager.default.fileExists(atPath: target))
        try? FileManager.default.removeItem(atPath: "\(target).part")
    }

    @Test func `no partial file is kept without a strong validator`() async throws {
        let stub = StubTransport { _ in
            .pieces(["abc"], headers: [.etag: "W/\"1\""], then: Self.cut)
        }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(error?.resumePoint == nil)
        #expect(stub.requests.count == 1)
        #expect(!FileManager.default.fileExists(atPath: "\(target).part"))
    }

    @Test func `a download that gets no new content is not retried forever`() async throws {
        let stub = StubTransport { asked in
            asked.request.headers.contains(HTTPFieldName.range)
                ? .pieces([], status: 206, headers: [.contentRange: "bytes 3-5/6"], then: Self.cut)
                : .pieces(["abc"], headers: [.etag: "\"1\""], then: Self.cut)
        }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub, resumptions: 50).download(endpoint, to: target)
        }
        #expect(error?.resumePoint?.received == 3)
        #expect(stub.requests.count == 2)
        try FileManager.default.removeItem(atPath: "\(target).part")
    }

    @Test func `an error response does not become a file`() async throws {
        let stub = StubTransport { _ in .json("{}", status: 404) }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(error?.response?.status == 404)
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test func `the error of an unwritable file contains its name`() async throws {
        let stub = StubTransport { _ in .pieces(["abc"]) }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: "/nowhere/file")
        }
        #expect(error?.detail.contains("/nowhere/file.part") == true)
    }

    @Test(arguments: ["/dev/null", "/etc/hostname", "nowhere"])
    func `a download replaces only regular files`(destination: String) async throws {
        let stub = StubTransport { _ in .pieces(["abc"]) }
        let files = FileManager.default
        try files.createSymbolicLink(atPath: target, withDestinationPath: destination)
        defer { try? FileManager.default.removeItem(atPath: target) }
        for place in [target, files.temporaryDirectory.path()] {
            let error = await #expect(throws: NetworkError.self) {
                try await manager(stub).download(endpoint, to: place)
            }
            #expect(error?.kind == .httpRequestError)
            #expect(error?.detail.contains(place) == true)
        }
        #expect(try files.destinationOfSymbolicLink(atPath: target) == destination)
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: ["bytes */2", "bytes */9"])
    func `a download of content with another length starts over`(range: String) async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["old"], headers: [.etag: "\"1\""], then: Self.cut),
            .status(416, headers: try HTTPHeaders(validating: [.contentRange: range])),
            .pieces(["new content"], headers: [.etag: "\"2\""])
        )
        _ = try await manager(stub).download(endpoint, to: target)
        #expect(stub.requests.map { $0.request.headers[.range] } == [nil, "bytes=3-", nil])
        #expect(try content(target) == "new content")
    }

    @Test func `a download starts over if its partial file is gone`() async throws {
        let point = ResumePoint(
            partialPath: "\(target).part",
            received: 3,
            validator: "\"1\""
        )
        let stub = StubTransport { _ in .pieces(["whole"], headers: [.etag: "\"1\""]) }
        _ = try await manager(stub).download(endpoint, to: target, resuming: point)
        #expect(stub.requests[0].request.headers[.range] == nil)
        #expect(try content(target) == "whole")
    }

    @Test func `a download without content leaves no file`() async throws {
        let stub = StubTransport { _ in .pieces([], headers: [.etag: "\"1\""], then: Self.cut) }
        await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(!FileManager.default.fileExists(atPath: "\(target).part"))
    }

    @Test func `a fault of the disk is not retried`() async throws {
        let target = target
        defer { try? FileManager.default.removeItem(atPath: target) }
        let stub = StubTransport { _ in
            // A file cannot replace a directory. The directory appears only during the download.
            try FileManager.default.createDirectory(
                atPath: target,
                withIntermediateDirectories: true
            )
            return .pieces(["abc"], headers: [.etag: "\"1\""])
        }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(stub).download(endpoint, to: target)
        }
        #expect(error?.kind == .httpRequestError)
        #expect(stub.requests.count == 1)
        try? FileManager.default.removeItem(atPath: "\(target).part")
    }

    @Test func `two downloads to the same file do not mix`() async throws {
        let clock = ManualClock()
        let body = HeldBody(clock)
        let slow = StubTransport { _ in
            .response(Response(status: 200, body: .stream(body, length: nil)))
        }
        let first = Task { try await manager(slow).download(endpoint, to: target) }
        await clock.untilSomebodySleeps()
        let error = await #expect(throws: NetworkError.self) {
            try await manager(StubTransport { _ in .pieces(["second"]) })
                .download(endpoint, to: target)
        }
        #expect(error?.kind == .httpRequestError)
        #expect(error?.detail.hasSuffix("another download writes it") == true)
        clock.advance(by: .seconds(1))
        #expect(try await first.value.length == 5)
        #expect(try content(target) == "first")
    }

    @Test func `a partial file of another download is not resumed`()
        async throws
    {
        let clock = ManualClock()
        let body = HeldBody(clock)
        let slow = StubTransport { _ in
            .response(Response(status: 200, body: .stream(body, length: nil)))
        }
        let first = Task { try await manager(slow).download(endpoint, to: target) }
        await clock.untilSomebodySleeps()
        let point = ResumePoint(partialPath: "\(target).part", received: 3, validator: "\"1\"")
        // The content has changed, so the earlier part is useless.
        let changed = StubTransport { _ in .pieces(["second"], headers: [.etag: "\"2\""]) }
        let error = await #expect(throws: NetworkError.self) {
            try await manager(changed).download(endpoint, to: target, resuming: point)
        }
        #expect(error?.kind == .httpRequestError)
        clock.advance(by: .seconds(1))
        #expect(try await first.value.length == 5)
        #expect(try content(target) == "first")
    }

    @Test func `progress includes the resumed part`() async throws {
        let stub = StubTransport()
        stub.answer(
            .get,
            "/file",
            with: .pieces(["abc"], headers: [.etag: "\"1\""], then: Self.cut),
            .pieces(["def"], status: 206, headers: [.contentRange: "bytes 3-5/6"])
        )
        let seen = Mutex<[TransferProgress]>([])
        var options = CallOptions()
        options.progress = { progress in seen.withLock { $0.append(progress) } }
        _ = try await manager(stub).download(endpoint, to: target, options: options)
        #expect(seen.withLock { $0.map(\.transferred) } == [3, 6])
        #expect(seen.withLock { $0.last?.total } == 6)
        _ = try content(target)
    }
}

/// Content with a second half one second later.
private final class HeldBody: BodySource {
    private let clock: ManualClock
    private let rest = Mutex(["t", "firs"])

    init(_ clock: ManualClock) {
        self.clock = clock
    }

    func next() async throws -> ByteSlice? {
        guard let piece = rest.withLock({ $0.popLast() }) else { return nil }
        if piece == "t" { try await clock.sleep(until: clock.now + .seconds(1)) }
        return ByteSlice(piece)
    }
}
