import NetproxyBytes
package import NetproxyHTTPMessage

/// Finds the content and the end of a body in its bytes, without storing content.
package struct BodyDecoder: Sendable {
    /// The meaning of the next bytes.
    ///
    /// The caller must consume exactly the bytes of an event before the next call.
    package enum Event: Sendable, Equatable {
        /// Consume these bytes and call again with more.
        case needMore(consumed: Int)
        /// Consume `skip` bytes of framing, then `count` bytes of content.
        case data(skip: Int, count: Int)
        /// Consume these bytes; the body is complete.
        case end(consumed: Int)
    }

    private enum State {
        case length(Int)
        case chunked(ChunkedDecoder)
        case untilClose
        case complete
    }

    private var state: State
    /// The trailer fields, without those that are not allowed there; `nil` if there are none.
    package private(set) var trailers: HTTPHeaders?

    package init(_ framing: BodyFraming, limits: HTTP1Limits = HTTP1Limits()) {
        state =
            switch framing {
            case .none, .length(0): .complete
            case .length(let length): .length(length)
            case .chunked: .chunked(ChunkedDecoder(limits: limits))
            case .untilClose: .untilClose
            }
    }

    /// Whether the body has been read completely.
    package var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// The remaining number of content bytes, if the head announced the length.
    package var remaining: Int? {
        if case .length(let rest) = state { rest } else { nil }
    }

    /// Examines the next bytes.
    package mutating func next(_ bytes: Span<UInt8>) throws(HTTP1Error) -> Event {
        switch state {
        case .complete:
            return .end(consumed: 0)
        case .untilClose:
            return bytes.isEmpty ? .needMore(consumed: 0) : .data(skip: 0, count: bytes.count)
        case .length(let rest):
            guard !bytes.isEmpty else { return .needMore(consumed: 0) }
            let count = min(rest, bytes.count)
            state = count == rest ? .complete : .length(rest - count)
            return .data(skip: 0, count: count)
        case .chunked(var decoder):
            let event = try decoder.next(bytes)
            state = .chunked(decoder)
            if case .end = event {
                trailers = decoder.trailers
                state = .complete
            }
            return event
        }
    }

    /// Reports the end of the connection.
    ///
    /// - Throws: `cutShort`, unless the body is complete or ends with the connection.
    package mutating func endOfStream() throws(HTTP1Error) {
        switch state {
        case .complete: break
        case .untilClose: state = .complete
        case .length, .chunked: throw .cutShort
        }
    }
}
