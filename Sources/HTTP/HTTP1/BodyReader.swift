package import NetproxyBytes
package import NetproxyHTTPMessage

/// Takes the content of one body out of the bytes that were read from its connection.
///
/// It does no I/O: the owner of the connection reads, and knows how long to wait.
package struct BodyReader: Sendable {
    /// What the buffer holds of the body.
    package enum Step {
        /// The next piece of the content.
        case piece(ByteSlice)
        /// Nothing yet: read more into the buffer.
        case needMore
        /// The body is complete.
        case end
    }

    private var decoder: BodyDecoder

    /// Begins after the head.
    package init(_ framing: BodyFraming, limits: HTTP1Limits = HTTP1Limits()) {
        decoder = BodyDecoder(framing, limits: limits)
    }

    /// Whether nothing of the body is left to come.
    package var isComplete: Bool { decoder.isComplete }

    /// How much content is still to come, where that was announced.
    package var remaining: Int? { decoder.remaining }

    /// The fields that followed the last chunk, if there were any.
    package var trailers: HTTPHeaders? { decoder.trailers }

    /// Takes the next piece out of the buffer.
    package mutating func next(from buffer: ReadBuffer) throws(HTTP1Error) -> Step {
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

    /// Takes note that the connection ended.
    ///
    /// - Throws: `cutShort`, unless the end of the body is the connection's.
    package mutating func endOfStream() throws(HTTP1Error) {
        try decoder.endOfStream()
    }
}
