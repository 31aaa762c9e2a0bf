package import NetproxyBytes
package import NetproxyHTTPMessage

/// Frames a body piece by piece, and holds it to the length that its head announced.
package struct BodyWriter: Sendable {
    /// A body that is longer or shorter than its Content-Length: the peer would look for the next
    /// message in the middle of this one, or the other way round.
    package struct LengthMismatch: Error {
        package init() {}

        /// What went wrong, in the words of the log.
        package static let reason = "body length does not match Content-Length"
    }

    private let framing: BodyFraming
    /// How many bytes are still to be written, where the head says so.
    private var left: Int

    /// Begins after the head.
    ///
    /// - Parameters:
    ///   - framing: what the head says.
    ///   - written: how many bytes of content were written with the head.
    package init(_ framing: BodyFraming, written: Int = 0) {
        self.framing = framing
        left = if case .length(let length) = framing { length - written } else { .max }
    }

    /// Frames the next piece, in place of what `output` holds.
    ///
    /// - Returns: the piece if it goes out after `output`, or nil if `output` holds it already.
    package mutating func frame(
        _ piece: ByteSlice,
        into output: OutputBuffer
    ) throws(LengthMismatch) -> ByteSlice? {
        output.removeAll()
        // An empty chunk would be the last one.
        guard piece.count > 0 else { return nil }
        left -= piece.count
        guard left >= 0 else { throw LengthMismatch() }
        guard framing == .chunked else { return piece }
        BodyWriter.chunkHeader(count: piece.count, into: output)
        output.append(piece.span)
        BodyWriter.chunkEnd(into: output)
        return nil
    }

    /// Ends the body: writes the last chunk and the trailers, in place of what `output` holds, where
    /// the body is chunked.
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

    /// Writes what precedes a chunk's data; `count` must not be 0, which ends the body.
    package static func chunkHeader(count: Int, into output: OutputBuffer) {
        precondition(count > 0, "an empty chunk is the last one")
        output.append(hexadecimal: UInt64(count))
        output.append("\r\n")
    }

    /// Writes what follows a chunk's data.
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
