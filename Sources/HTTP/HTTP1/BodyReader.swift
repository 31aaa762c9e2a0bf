package import NetproxyBytes
package import NetproxyHTTPMessage

/// Extracts the content of one body from the bytes read from its connection.
///
/// It does no I/O: the owner of the connection reads and applies the timeouts.
package struct BodyReader: Sendable {
    /// The part of the body in the buffer.
    package enum Part {
        /// The next piece of the content.
        case piece(ByteSlice)
        /// No content yet: read more into the buffer.
        case needMore
        /// The body is complete.
        case end
    }

    private var decoder: BodyDecoder

    /// Creates a reader for the body after a head.
    package init(_ framing: BodyFraming, limits: HTTP1Limits = HTTP1Limits()) {
        decoder = BodyDecoder(framing, limits: limits)
    }

    /// Whether the body has been read completely.
    package var isComplete: Bool { decoder.isComplete }

    /// The remaining number of content bytes, if the head announced the length.
    package var remaining: Int? { decoder.remaining }

    /// The fields after the last chunk, if any.
    package var trailers: HTTPHeaders? { decoder.trailers }

    /// Removes the next piece from the buffer.
    package mutating func next(from buffer: ReadBuffer) throws(HTTP1Error) -> Part {
        switch try buffer.withSpan({ bytes throws(HTTP1Error) in try decoder.next(bytes) }) {
        case .data(let skip, let count):
            buffer.consume(skip)
            return .piece(buffer.take(count))
        case .needMore(let consumed):
            buffer.consume(consumed)
            return .needMore
        case .end(let consumed):
            buffer.consume(consumed)
            return .end
        }
    }

    /// Reports the end of the connection.
    ///
    /// - Throws: `cutShort`, unless the body is complete or ends with the connection.
    package mutating func endOfStream() throws(HTTP1Error) {
        try decoder.endOfStream()
    }
}
