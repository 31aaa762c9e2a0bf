import Foundation
import NetworkClient
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of large content in memory, which is sent in pieces.
@Suite struct DataBodyTests {
    private static let large = Data((0..<600_000).map { UInt8($0 % 251 % 26 + 97) })

    @Test func `large data is sent completely, and again after a 401 and a 503`() async throws {
        let answers = Mutex(["401 Unauthorized", "503 Busy", "200 OK"])
        let origin = try await OriginServer.start { _ in
            let status = answers.withLock { $0.removeFirst() }
            return "HTTP/1.1 \(status)\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
        }
        var channel = NetworkChannel(transport: try PooledTransport())
        channel.authorizer = HeaderAuthorizer(Session())
        let endpoint = PathEndpoint(
            "/",
            of: BaseURL("http://127.0.0.1:\(origin.port)"),
            method: .put,
            task: .data(Self.large, contentType: "text/plain"),
            authorization: .required
        )
        _ = try await NetworkManager<PathEndpoint>(channel).response(for: endpoint)
        let text = String(decoding: Self.large, as: UTF8.self)
        #expect(origin.requests.count == 3)
        for request in origin.requests {
            #expect(request["Content-Length"] == "600000")
            #expect(request["Transfer-Encoding"] == nil)
            #expect(request.body == text)
        }
    }

    @Test(arguments: [0, 1, 262_143, 262_144, 262_145])
    func `a slice of data of any length is sent exactly`(count: Int) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("") }
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: try PooledTransport())
        )
        let slice = Self.large[1000..<(1000 + count)]
        let request = try Request(.post, url: "http://127.0.0.1:\(origin.port)/", content: slice)
        _ = try await manager.perform(request)
        #expect(origin.requests.first?.body == String(decoding: slice, as: UTF8.self))
    }

    private struct Session: HeaderAuthorizing {
        var isSignedIn: Bool { true }
        func authorize() async throws -> HTTPHeaders { HTTPHeaders([.bearer(Secret("t"))]) }
    }
}
