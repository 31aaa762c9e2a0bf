import Foundation
import NetproxyBytes
import NetworkClient
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of the events at the end of the content of a stream, a download or an upload.
@Suite struct BodyEndTests {
    /// The events of one channel, one line each.
    private final class Events: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }

        func note(_ event: NetworkEvent) {
            let exchange = event.exchange
            let line: String? =
                switch event {
                case .received:
                    "received \(exchange.contentLength.map(String.init) ?? "-")"
                        + " sent \(exchange.sentLength.map(String.init) ?? "-")"
                case .ended(_, let error):
                    "ended \(exchange.contentLength ?? -1) \(error.map(\.kind.rawValue) ?? "whole")"
                case .failed(_, let error):
                    "failed \(error.kind.rawValue) sent"
                        + " \(exchange.sentLength.map(String.init) ?? "-")"
                default: nil
                }
            guard let line else { return }
            if case .ended = event { #expect(exchange.duration > .zero) }
            list.withLock { $0.append(line) }
        }
    }

    private let events = Events()

    private func manager() throws -> NetworkManager<PathEndpoint> {
        var channel = NetworkChannel(transport: try PooledTransport())
        let events = events
        channel.onEvent = { events.note($0) }
        channel.retry = nil
        channel.downloadResumptions = 1
        return NetworkManager(channel)
    }

    private func request(_ origin: OriginServer, _ method: HTTPMethod = .get) throws -> Request {
        try Request(method, url: "http://127.0.0.1:\(origin.port)/")
    }

    /// Starts a server with responses that announce ten bytes and have `count` bytes.
    private func server(_ count: Int, _ fields: String = "X-A: 1") async throws -> OriginServer {
        try await OriginServer.start { wire in
            guard try await wire.next() != nil else { return }
            try await wire.send("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 10\r\n\r\n")
            try await wire.send(String(repeating: "x", count: count))
        }
    }

    @Test func `a stream read to its end is complete`() async throws {
        let origin = try await server(10)
        for try await _ in try await manager().stream(request(origin)).bytes {}
        #expect(events.all == ["received - sent 0", "ended 10 whole"])
    }

    @Test func `a stream that breaks off ends with its error`() async throws {
        let origin = try await server(4)
        let stream = try await manager().stream(request(origin))
        await #expect(throws: NetworkError.self) { for try await _ in stream.bytes {} }
        #expect(events.all == ["received - sent 0", "ended 4 http_response_incomplete"])
    }

    @Test func `a stream is canceled explicitly or by dropping it`()
        async throws
    {
        let origin = try await OriginServer.start { wire in
            guard try await wire.next() != nil else { return }
            try await wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
            _ = try await wire.next()
        }
        let manager = try manager()
        try await manager.stream(request(origin)).cancel()
        do { _ = try await manager.stream(request(origin)).status }
        #expect(
            events.all
                == Array(repeating: ["received - sent 0", "ended 0 cancelled"], count: 2).flatMap(
                    \.self
                )
        )
    }

    @Test func `each part of a download has its own end event`() async throws {
        let origin = try await OriginServer.start { wire in
            guard let request = try await wire.next() else { return }
            let fields = "ETag: \"a\"\r\nContent-Length"
            guard request["Range"] == nil else {
                try await wire.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-9/10\r\n\(fields): 6\r\n\r\nyyyyyy"
                )
                return
            }
            try await wire.send("HTTP/1.1 200 OK\r\n\(fields): 10\r\n\r\nxxxx")
        }
        let path = FileManager.default.temporaryDirectory
            .appending(path: "ends-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try await manager().download(request(origin), to: path)
        #expect((file.length, file.resumptions) == (10, 1))
        #expect(
            events.all == [
                "received - sent 0", "ended 4 http_response_incomplete", "received - sent 0",
                "ended 6 whole",
            ]
        )
    }

    @Test func `a download that cannot be stored ends with an error`() async throws {
        let origin = try await server(10)
        let manager = try manager()
        let asked = try request(origin)
        await #expect(throws: NetworkError.self) {
            try await manager.download(asked, to: "/proc/none/file")
        }
        #expect(events.all == ["received - sent 0", "ended 0 http_request_error"])
    }

    @Test func `the event of an upload contains its sent length`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("done") }
        let manager = try manager()
        _ = try await manager.upload(
            request(origin, .put),
            .data(Data(count: 1000), contentType: "a/b")
        )
        let pieces = AsyncStream<Data> { continuation in
            for _ in 0..<3 { continuation.yield(Data(count: 200_000)) }
            continuation.finish()
        }
        _ = try await manager.upload(
            request(origin, .put),
            .stream(SequenceBody(pieces), contentType: "a/b")
        )
        #expect(events.all == ["received 4 sent 1000", "received 4 sent 600000"])
    }

    @Test func `an event feed reports each connection`() async throws {
        let text = "data: one\n\n"
        let origin = try await OriginServer.start { _ in
            Raw.ok(text, "Content-Type: text/event-stream")
        }
        for try await _ in try manager().events(request(origin)) { break }
        #expect(events.all.first == "received - sent 0")
        #expect(events.all.last?.hasPrefix("ended") == true)
    }
}
