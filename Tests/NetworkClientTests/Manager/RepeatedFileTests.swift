import Foundation
import NetworkClient
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of content that is read from files several times.
@Suite struct RepeatedFileTests {
    private static let text = String(repeating: "0123456789", count: 20_000)

    private func endpoint(_ method: HTTPMethod) -> PathEndpoint {
        PathEndpoint("/x", of: "https://a.example", method: method)
    }

    private func manager(_ stub: StubTransport) -> NetworkManager<PathEndpoint> {
        NetworkManager(.stubbed(stub))
    }

    private func chain(_ upstream: Upstream) -> RequestChain {
        RequestChain.authorized(by: WillingAuthorizer(), upstream)
    }

    private func upload(_ task: HTTPTask) throws -> Request {
        try RequestBuilder("https://api.example/x").method(.post).task(task).build()
    }

    private func form(_ paths: String...) -> MultipartForm {
        var form = MultipartForm(boundary: "b")
        form.append("a", text: "1")
        for path in paths { form.append("f", file: path) }
        return form
    }

    @Test func `a long file is sent again after a 503`() async throws {
        let file = try ScratchFile(Self.text)
        let stub = StubTransport()
        stub.answer(.put, "/x", with: .status(503), .status(200))
        let response = try await manager(stub)
            .upload(endpoint(.put), .file(path: file.path, contentType: "text/plain"))
        #expect(response.context.retries == [.status(503)])
        #expect(stub.requests.map { $0.text == Self.text } == [true, true])
        #expect(stub.requests.map(\.request.body.length) == [200_000, 200_000])
    }

    @Test func `a POST of a file is sent again only after a 401`()
        async throws
    {
        let file = try ScratchFile(Self.text)
        let upstream = Upstream { _, earlier in Response(status: earlier == 0 ? 401 : 503) }
        let request = try upload(.file(path: file.path, contentType: "text/plain"))
        let (response, context) = try await chain(upstream).exchange(request)
        #expect(response.status == 503)
        #expect(upstream.arrived.map { $0.body == Self.text } == [true, true])
        #expect(context.retries == [.unauthorized])
    }

    @Test func `a form with files is sent again unchanged`() async throws {
        let (first, second) = (try ScratchFile(Self.text), try ScratchFile("short"))
        let upstream = Upstream { _, earlier in Response(status: earlier == 0 ? 401 : 200) }
        let task = HTTPTask.multipart(form(first.path, second.path))
        let (response, _) = try await chain(upstream).exchange(try upload(task))
        #expect(response.status == 200)
        let bodies = upstream.arrived.map(\.body)
        try #require(bodies.count == 2)
        #expect(bodies[0] == bodies[1])
        #expect(bodies[0].contains(Self.text))
        #expect(bodies[0].hasSuffix("short\r\n--b--\r\n"))
        #expect(upstream.arrived.allSatisfy { $0.request.body.length == $0.body.utf8.count })
    }

    @Test func `a retrier sends a file again`() async throws {
        let file = try ScratchFile(Self.text)
        let stub = StubTransport()
        stub.answer(.post, "/x", with: .status(429), .status(200))
        let retrying = RetryingInterceptor(Busy())
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub, interceptors: [retrying]))
        _ = try await manager.upload(
            endpoint(.post),
            .file(path: file.path, contentType: "text/plain")
        )
        #expect(stub.requests.map { $0.text == Self.text } == [true, true])
    }

    @Test(arguments: [true, false], [true, false])
    func `a file that changes between two attempts is an error`(
        grows: Bool,
        isPart: Bool
    ) async throws {
        let file = try ScratchFile(Self.text)
        let upstream = Upstream { _, _ in
            if grows {
                let end = try FileHandle(forWritingTo: URL(filePath: file.path))
                try end.seekToEnd()
                try end.write(contentsOf: Data("more".utf8))
                try end.close()
            } else {
                // Like a program that writes other bytes of the same length.
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1)],
                    ofItemAtPath: file.path
                )
            }
            return Response(status: 401)
        }
        let task =
            isPart
            ? HTTPTask.multipart(form(file.path))
            : HTTPTask.file(path: file.path, contentType: "text/plain")
        let fault = await networkError { try await chain(upstream).exchange(try upload(task)).0 }
        #expect(fault?.kind == .httpRequestError)
        #expect(fault?.side == .downstream)
        #expect(fault?.detail == "the file \(file.path) has changed since the attempt before")
        #expect(upstream.arrived.count == 1)
    }

    @Test func `a file replaced by another one is sent unchanged`() async throws {
        let file = try ScratchFile(Self.text)
        let upstream = Upstream { _, earlier in
            if earlier == 0 {
                try Data("another".utf8).write(to: URL(filePath: file.path), options: .atomic)
            }
            return Response(status: earlier == 0 ? 401 : 200)
        }
        let request = try upload(.file(path: file.path, contentType: "text/plain"))
        _ = try await chain(upstream).exchange(request)
        #expect(upstream.arrived.map { $0.body == Self.text } == [true, true])
    }

    @Test func `a file that grows in its first attempt is sent with its old length`() async throws {
        let file = try ScratchFile(Self.text)
        let request = try upload(.file(path: file.path, contentType: "text/plain"))
        let end = try FileHandle(forWritingTo: URL(filePath: file.path))
        try end.seekToEnd()
        try end.write(contentsOf: Data("more".utf8))
        let upstream = Upstream { _, _ in Response(status: 200) }
        _ = try await chain(upstream).exchange(request)
        #expect(upstream.arrived.map { $0.body == Self.text } == [true])
    }

    @Test func `the progress of a file restarts with each attempt`() async throws {
        let file = try ScratchFile(String(repeating: "x", count: 70_000))
        let stub = StubTransport()
        stub.answer(.put, "/x", with: .status(503), .status(200))
        let seen = Mutex<[Int]>([])
        let options = CallOptions(progress: { progress in
            seen.withLock { $0.append(progress.transferred) }
        })
        _ = try await manager(stub).upload(
            endpoint(.put),
            .file(path: file.path, contentType: "text/plain"),
            options: options
        )
        #expect(seen.withLock { $0 } == [65_536, 70_000, 65_536, 70_000])
    }

    @Test func `a file on a stale connection is sent again on a new one`() async throws {
        let file = try ScratchFile(Self.text)
        let origin = try await OriginServer.start { wire in
            if wire.number == 0 {
                _ = try await wire.message()
                try await wire.send(Raw.ok())
                try await wire.read(through: "\r\n\r\n0123")
                return
            }
            while let request = try await wire.next() { try await wire.send(Raw.ok(request.body)) }
        }
        let base: BaseURL = "http://127.0.0.1:\(origin.port)"
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: try PooledTransport()))
        try await manager.send(PathEndpoint("/", of: base))
        let response = try await manager.upload(
            PathEndpoint("/", of: base, method: .put),
            .file(path: file.path, contentType: "text/plain")
        )
        #expect(response.text == Self.text)
        #expect(response.context.retries == [.fault(.connectionTerminated)])
    }

    @Test func `an interceptor can tell whether a body can be sent again`() throws {
        let file = try ScratchFile(Self.text)
        let task = HTTPTask.file(path: file.path, contentType: "text/plain")
        #expect(try upload(task).again() != nil)
        #expect(try upload(.text("x")).again() != nil)
        #expect(try upload(.stream(PiecedBody(["x"]), contentType: "text/plain")).again() == nil)
    }
}

private struct Busy: RequestRetrier {
    func decide(
        on request: Request,
        after outcome: AttemptOutcome,
        attempts: Int
    ) async -> RetryDecision {
        if case .response(429, _) = outcome { return .retry }
        return .doNotRetry
    }
}
