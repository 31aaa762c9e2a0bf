import Foundation
import NetproxyBytes
import NetworkClient
import NetworkTesting
import OriginTransport
import TestSupport
import Testing

/// Tests of compressed content over real sockets.
@Suite struct CompressedContentTests {
    /// `{"name":"one","all":[1,2,3]}`, compressed by CPython's zlib, brotli and zstd.
    private static let text = #"{"name":"one","all":[1,2,3]}"#
    private static let samples: [String: String] = [
        "gzip": "H4sIAAAAAAACA6tWykvMTVWyUsrPS1XSUUrMyVGyijbUMdIxjq0FACndPAAcAAAA",
        "deflate": "eNqrVspLzE1VslLKz0tV0lFKzMlRsoo21DHSMY6tBQB7Wggn",
        "br": "jw2AeyJuYW1lIjoib25lIiwiYWxsIjpbMSwyLDNdfQM=",
        "zstd": "KLUv/QRo4QAAeyJuYW1lIjoib25lIiwiYWxsIjpbMSwyLDNdfeQhWsQ=",
    ]

    private struct Value: Decodable {
        var name: String
        var all: [Int]
    }

    private static func bytes(_ coding: String) -> [UInt8] {
        Data(base64Encoded: samples[coding] ?? "").map(Array.init) ?? []
    }

    /// Starts a server with content in pieces of `size` bytes, with a length or in chunks.
    private static func server(
        _ fields: String,
        _ content: [UInt8],
        status: String = "200 OK",
        piece size: Int = .max,
        isChunked: Bool = false
    ) async throws -> OriginServer {
        try await OriginServer.start { wire in
            while try await wire.next() != nil {
                let length =
                    isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(content.count)"
                try await wire.send("HTTP/1.1 \(status)\r\n\(fields)\r\n\(length)\r\n\r\n")
                var rest = content[...]
                while !rest.isEmpty {
                    let piece = rest.prefix(size)
                    rest = rest.dropFirst(piece.count)
                    if isChunked {
                        try await wire.send("\(String(piece.count, radix: 16))\r\n")
                    }
                    try await wire.send(Array(piece))
                    if isChunked { try await wire.send("\r\n") }
                }
                if isChunked { try await wire.send("0\r\n\r\n") }
            }
        }
    }

    private func manager(_ change: (inout NetworkChannel) -> Void = { _ in })
        throws -> NetworkManager<PathEndpoint>
    {
        var channel = NetworkChannel(transport: try PooledTransport())
        change(&channel)
        return NetworkManager(channel)
    }

    private func request(_ origin: OriginServer, headers: HTTPHeaders = [:]) throws -> Request {
        try Request(url: "http://127.0.0.1:\(origin.port)/", headers: headers)
    }

    /// A list of 5001 numbers, of 10,003 bytes, in 51 bytes of gzip.
    private static let repetitive =
        "H4sIAAAAAAACA+3CMQ0AAAgDMEM800PwbwMfS9NuBgAAAAAAAAAAAArcA6XKOHcTJwAA"

    @Test func `the growth of content is limited for a channel or a call`() async throws {
        let content = try #require(Data(base64Encoded: Self.repetitive))
        let stub = StubTransport { _ in .data(content, headers: ["Content-Encoding": "gzip"]) }
        var channel = NetworkChannel.stubbed(stub)
        channel.decompression = DecompressionLimits(growth: 100, from: 1000)
        let manager = NetworkManager<PathEndpoint>(channel)
        let request = try Request(url: "https://a.test/")
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(request) }
        #expect(error?.kind == .httpResponseContentCoding)
        #expect(error?.detail.hasSuffix("100 times its size (decompression.growth)") == true)
        for limits in [DecompressionLimits(), DecompressionLimits(growth: nil, from: 0)] {
            var options = CallOptions()
            options.decompression = limits
            let response = try await manager.perform(request, options: options)
            #expect(response.content.count == 10_003)
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"], [1, -1, Int.max])
    func `content is decoded with every framing and piece size`(coding: String, size: Int)
        async throws
    {
        let origin = try await Self.server(
            "Content-Encoding: \(coding)",
            Self.bytes(coding),
            piece: abs(size),
            isChunked: size < 0
        )
        let manager = try manager()
        let value = try await manager.request(request(origin), as: Value.self)
        #expect((value.name, value.all) == ("one", [1, 2, 3]))
        let response = try await manager.perform(request(origin))
        #expect(response.text == Self.text)
        #expect(response.headers["Content-Encoding"] == nil)
        #expect(origin.requests.first?["Accept-Encoding"] == "gzip, deflate, br, zstd")
        #expect(origin.connections.count == 1)
    }

    @Test(arguments: [
        ("X-Gzip", "gzip", nil), ("identity, gzip", "gzip", nil),
        ("aws-chunked,gzip", "gzip", "aws-chunked"),
    ])
    func `coding names are matched leniently, and unknown ones are kept`(
        field: String,
        coding: String,
        rest: String?
    ) async throws {
        let origin = try await Self.server("Content-Encoding: \(field)", Self.bytes(coding))
        let response = try await manager().perform(request(origin))
        #expect(response.text == Self.text)
        #expect(response.headers["Content-Encoding"] == rest)
    }

    @Test(arguments: ["utf-8", "compress", "gzip, none"])
    func `content of an unknown coding is unchanged`(field: String) async throws {
        let origin = try await Self.server("Content-Encoding: \(field)", Array("plain".utf8))
        let response = try await manager().perform(request(origin))
        #expect(response.text == "plain")
        #expect(response.headers["Content-Encoding"] == field)
        #expect(response.headers["Content-Length"] == "5")
    }

    @Test func `content of several codings is decoded in turn, up to three`() async throws {
        let twice = Self.bytes("gzip")
        let origin = try await Self.server("Content-Encoding: br, gzip", twice)
        // The result of gzip is not valid br.
        let asked = try request(origin)
        let manager = try manager()
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(error?.kind == .httpResponseContentCoding)
        #expect(error?.detail.contains("the br content is malformed") == true)
        let many = try await Self.server("Content-Encoding: br, br, br, br", [1])
        let all = try request(many)
        let other = await #expect(throws: NetworkError.self) { try await manager.perform(all) }
        #expect(other?.detail == "the content has 4 codings, more than 3")
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func `the error of truncated or malformed content names the coding`(coding: String)
        async throws
    {
        let whole = Self.bytes(coding)
        for content in [Array(whole.dropLast(5)), Array(Self.text.utf8)] {
            let origin = try await Self.server("Content-Encoding: \(coding)", content)
            let manager = try manager()
            let asked = try request(origin)
            let error = await #expect(throws: NetworkError.self) {
                try await manager.perform(asked)
            }
            #expect(error?.kind == .httpResponseContentCoding)
            #expect(error?.detail.contains("the \(coding) content ") == true)
        }
    }

    @Test func `an error's content is decoded, too`() async throws {
        let origin = try await Self.server(
            "Content-Encoding: gzip",
            Self.bytes("gzip"),
            status: "404 Not Found"
        )
        let manager = try manager()
        let asked = try request(origin)
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(error?.response?.text == Self.text)
    }

    @Test func `a response without content is not decoded`() async throws {
        let manager = try manager()
        let head = try await Self.server("Content-Encoding: gzip", [])
        let empty = try await manager.perform(request(head))
        #expect(empty.data.isEmpty)
        let unchanged = try await Self.server(
            "Content-Encoding: gzip",
            [],
            status: "304 Not Modified"
        )
        let options = CallOptions(validation: .any)
        #expect(try await manager.perform(request(unchanged), options: options).status == 304)
    }

    @Test func `a caller that disables compression gets the raw bytes`() async throws {
        let origin = try await Self.server("Content-Encoding: gzip", Self.bytes("gzip"))
        let raw = Data(Self.bytes("gzip"))
        let off = try manager { $0.acceptsCompression = false }
        #expect(try await off.data(for: request(origin)) == raw)
        #expect(origin.requests.last?["Accept-Encoding"] == nil)
        let manager = try manager()
        for (name, value) in [("Accept-Encoding", "identity"), ("Range", "bytes=0-")] {
            let asked = try request(origin, headers: HTTPHeaders([name: value]))
            let response = try await manager.perform(asked)
            #expect(response.data == raw)
            #expect(response.headers["Content-Encoding"] == "gzip")
        }
        let path = FileManager.default.temporaryDirectory
            .appending(path: "raw-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try await manager.download(request(origin), to: path)
        #expect(file.length == raw.count)
        #expect(origin.requests.last?["Accept-Encoding"] == "identity")
    }

    @Test func `a stream is decoded piece by piece`() async throws {
        let origin = try await Self.server(
            "Content-Encoding: br",
            Self.bytes("br"),
            piece: 3,
            isChunked: true
        )
        var text = ""
        for try await piece in try await manager().stream(request(origin)).bytes {
            text += String(decoding: piece.array, as: UTF8.self)
        }
        #expect(text == Self.text)
    }

    @Test func `a custom interceptor receives decoded content`() async throws {
        struct Length: RequestInterceptor {
            func intercept(_ request: Request, context: inout RequestContext, next: RequestChain)
                async throws -> Response
            {
                var response = try await next.send(request, context: &context)
                let content = try await response.body.collect(upTo: 1000)
                if let field = HTTPField("X-Length", "\(content.count)") {
                    response.headers.set(field)
                }
                response.body = .bytes(content)
                return response
            }
        }
        let origin = try await Self.server("Content-Encoding: gzip", Self.bytes("gzip"))
        let response = try await manager { $0.interceptors = [Length()] }.perform(request(origin))
        #expect(response.headers["X-Length"] == "\(Self.text.utf8.count)")
    }
}
