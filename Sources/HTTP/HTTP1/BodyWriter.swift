package import NetproxyBytes
package import NetproxyHTTPMessage

/// Frames a body piece by piece, and enforces the length that its head announced.
package struct BodyWriter: Sendable {
    /// The error for a body that is longer or shorter than its Content-Length.
    ///
    /// If it were sent, the peer would look for the next message at the wrong position.
    package struct LengthMismatch: Error {
        package init() {}

        /// The reason for the log.
        package static let reason = "body length does not match Content-Length"
    }

    private let framing: BodyFraming
    /// The remaining number of bytes, if the head announced the length.
    private var left: Int

    /// Creates a writer for the body after a head.
    ///
    /// - Parameters:
    ///   - framing: the framing in the head.
    ///   - written: the number of content bytes written with the head.
    package init(_ framing: BodyFraming, written: Int = 0) {
        self.framing = framing
        left = if case .length(let length) = framing { length - written } else { .max }
    }

    /// Frames the next piece; replaces the content of `output`.
    ///
    /// - Returns: the piece if it must be sent after `output`; `nil` if `output` contains it.
    package mutating func frame(
        _ piece: ByteSlice,
        into output: OutputBuffer
    ) throws(LengthMismatch) -> ByteSlice? {
        output.removeAll()
        // An empty chunk would end the body.
        guard piece.count > 0 else { return nil }
        left -= piece.count
        guard left >= 0 else { throw LengthMismatch() }
        guard framing == .chunked else { return piece }
        BodyWriter.chunkHeader(count: piece.count, into: output)
        output.append(piece.span)
        BodyWriter.chunkEnd(into: output)
        return nil
    }

    /// Ends the body: if it is chunked, replaces the content of `output` with the last chunk and the
    /// trailers.
    package func end(
        trailers: HTTPHeaders? = nil,
        into output: OutputBuffer
    ) throws(LengthMismatch) {
        output.removeAll()
        switch framing {
        case .chunked: BodyWriter.lastChunk(trailers: trailers, into: output)
        case .length: guard left == 0 else { throw LengthMismatch() }
        case .none, .untilClose: break
        }
    }

    /// Writes the bytes before the data of a chunk; `count` must not be 0, which would end the body.
    package static func chunkHeader(count: Int, into output: OutputBuffer) {
        precondition(count > 0, "an empty chunk is the last one")
        output.append(hexadecimal: UInt64(count))
        output.append("\r\n")
    }

    /// Writes the bytes after the data of a chunk.
    package static func chunkEnd(into output: OutputBuffer) {
        output.append("\r\n")
    }

    /// Writes the last chunk and the trailer section.
    package static func lastChunk(trailers: HTTPHeaders? = nil, into output: OutputBuffer) {
        output.append("0\r\n")
        trailers?.encode(into: output, omitting: HeadEncoder.writtenInRequests)
        output.append("\r\n")
    }
}
