import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import TestSupport
import Testing

/// Round trips of the corpus and damaged copies: an accepted message keeps its meaning.
@Suite struct RoundTripTests {
    private static let copies = 5

    // Thousands of messages, with a yield for each, because other suites need the threads.
    @Test func `an accepted request survives encoding and decoding`() async {
        var count = 0
        for (bytes, direction, name) in messages(where: { $0 == .request }) {
            await Task.yield()
            for request in Conversation(bytes, direction).requests {
                let written = written(request)
                let again = Conversation(written, .request, limits: roomy).requests
                #expect(again.count == 1, "\(name): \(CorpusCase.escaped(bytes))")
                guard let second = again.first else { continue }
                count += 1
                #expect(second.head.method == request.head.method, "\(name)")
                #expect(second.head.target == request.head.target, "\(name)")
                #expect(second.head.host == request.head.host ?? Authority("a"), "\(name)")
                #expect(second.body == request.body, "\(name)")
                #expect(rest(second.head.headers) == rest(request.head.headers), "\(name)")
            }
        }
        #expect(count > 500)
    }

    @Test func `an accepted response survives encoding and decoding`() async {
        var count = 0
        for (bytes, direction, name) in messages(where: { $0 != .request }) {
            await Task.yield()
            for response in Conversation(bytes, direction).responses
            where response.head.status.kind != .informational {
                let written = written(response)
                let again = Conversation(written, direction, limits: roomy).responses
                #expect(again.count == 1, "\(name): \(CorpusCase.escaped(bytes))")
                guard let second = again.first else { continue }
                count += 1
                #expect(second.head.status == response.head.status, "\(name)")
                #expect(second.head.framing == response.head.framing, "\(name)")
                #expect(second.head.announcedLength == response.head.announcedLength, "\(name)")
                #expect(second.body == response.body, "\(name)")
                #expect(second.trailers == response.trailers, "\(name)")
                #expect(rest(second.head.headers) == rest(response.head.headers), "\(name)")
            }
        }
        #expect(count > 60)
    }

    /// Limits with space for the encoder's own lines.
    private var roomy: HTTP1Limits {
        var limits = HTTP1Limits()
        (limits.sectionSize, limits.targetSize, limits.fieldCount) = (32 << 10, 16 << 10, 110)
        return limits
    }

    private func messages(
        where isWanted: (CorpusCase.Direction) -> Bool
    ) -> [([UInt8], CorpusCase.Direction, String)] {
        var source = Damage(seed: 7)
        return CorpusCase.all(where: isWanted).flatMap { corpusCase in
            let count = corpusCase.bytes.count < 1000 ? Self.copies : 0
            let damaged = (0..<count).map { _ in source.damaged(corpusCase.bytes) }
            return ([corpusCase.bytes] + damaged).map {
                ($0, corpusCase.direction, corpusCase.description)
            }
        }
    }

    private func written(_ request: Conversation.Request) -> [UInt8] {
        let output = OutputBuffer()
        var headers = request.head.headers
        // As in the daemon, which forwards the field only with a body that waits for it.
        headers.remove(HTTPFieldName.expect)
        HeadEncoder.encodeRequest(
            method: request.head.method,
            target: "\(request.head.target)",
            host: request.head.host.map { "\($0)" } ?? "a",
            headers: headers,
            framing: request.head.framing,
            into: output
        )
        write(request.body, request.head.framing, nil, into: output)
        return output.span.array
    }

    private func written(_ response: Conversation.Response) -> [UInt8] {
        let output = OutputBuffer()
        HeadEncoder.encodeResponse(
            status: response.head.status,
            headers: response.head.headers,
            framing: response.head.framing,
            announcedLength: response.head.announcedLength,
            into: output
        )
        write(response.body, response.head.framing, response.trailers, into: output)
        return output.span.array
    }

    private func write(
        _ body: [UInt8],
        _ framing: BodyFraming,
        _ trailers: HTTPHeaders?,
        into output: OutputBuffer
    ) {
        guard framing == .chunked else { return output.append(body) }
        if !body.isEmpty {
            BodyWriter.chunkHeader(count: body.count, into: output)
            output.append(body)
            BodyWriter.chunkEnd(into: output)
        }
        BodyWriter.lastChunk(trailers: trailers, into: output)
    }

    /// Returns the fields that the encoder does not write itself.
    private func rest(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        headers.remove(
            KnownFieldSet(
                .connection,
                .te,
                .upgrade,
                .keepAlive,
                .proxyConnection,
                .host,
                .contentLength,
                .transferEncoding,
                .expect
            )
        )
        return headers
    }
}

/// Damages messages in the same way in every run.
struct Damage {
    private static let splices = [
        "\r\n", "\r", "\n", "\0", " ", "\t", ",", ";", ":", "\u{B}", "0", "\r\n\r\n",
        "0\r\n\r\n", "\r\nContent-Length: 1", "\r\nTransfer-Encoding: chunked", "\r\nHost: b",
        "HTTP/1.1", "HTTP/1.0", "%00", "http://a", "\r\nConnection: close", "\r\nX: \u{7F}",
    ].map { Array($0.utf8) }

    private var numbers: SplitMix64

    init(seed: UInt64) {
        numbers = SplitMix64(seed: seed)
    }

    /// Returns a copy with one to three faults.
    mutating func damaged(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...3, using: &numbers) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &numbers)
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(bytes[place], at: place)
            default:
                let splice = Self.splices[Int.random(in: 0..<Self.splices.count, using: &numbers)]
                bytes.insert(contentsOf: splice, at: place)
            }
        }
        return bytes
    }
}
