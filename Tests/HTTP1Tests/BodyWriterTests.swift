import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

/// The encoding of bodies: pieces in, bytes out.
@Suite struct BodyWriterTests {
    private func written(
        _ pieces: [String],
        _ framing: BodyFraming,
        after written: Int = 0,
        trailers: HTTPHeaders? = nil
    ) throws -> String {
        var writer = BodyWriter(framing, written: written)
        let output = OutputBuffer()
        var bytes: [UInt8] = []
        for piece in pieces {
            let content = try writer.frame(ByteSlice(piece), into: output)
            bytes += output.span.array + (content?.array ?? [])
        }
        try writer.end(trailers: trailers, into: output)
        bytes += output.span.array
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `pieces become chunks, and an empty piece does not end the body`() throws {
        let text = try written(["ab", "", "c"], .chunked, trailers: ["X-Sum": "3"])
        #expect(text == "2\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 3\r\n\r\n")
    }

    @Test(arguments: [BodyFraming.length(3), .untilClose])
    func `the pieces of any other body are sent unchanged`(_ framing: BodyFraming) throws {
        #expect(try written(["ab", "", "c"], framing, trailers: ["X-Sum": "3"]) == "abc")
    }

    @Test func `content sent with the head counts toward the length`() throws {
        #expect(try written(["c"], .length(3), after: 2) == "c")
    }

    @Test(arguments: [["ab"], ["abcd"], ["ab", "cd"], []])
    func `a body that differs from its announced length is refused`(_ pieces: [String]) {
        #expect(throws: BodyWriter.LengthMismatch.self) { try written(pieces, .length(3)) }
    }
}
