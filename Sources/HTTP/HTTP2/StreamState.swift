package import NetproxyHTTP1

/// The state of one stream (RFC 9113 §5.1, §8.1): the permitted events, and their consequences.
///
/// It is a value without I/O. `HTTP2Stream` reports frames to one such value. The two ends of an exchange,
/// `HTTP2Exchange` and `DownstreamStream`, report the events of the session to theirs, and perform the
/// returned actions.
///
/// The *incoming* half describes the message from the peer:
///
/// | incoming    | head       | content               | end               | refuse | stopReceiving | close |
/// |-------------|------------|-----------------------|-------------------|--------|---------------|-------|
/// | head        | content¹   | failed                | failed            | failed | unwanted      | cut   |
/// | content     | failed     | content, or failed²   | ended, or failed² | failed | unwanted      | cut   |
/// | noContent   | failed     | failed                | ended             | failed | unwanted      | cut   |
/// | ended       | –          | dropped               | –                 | –      | –             | –     |
/// | failed      | –          | dropped               | –                 | –      | –³            | –     |
/// | unwanted    | –          | dropped               | –                 | –      | –             | –     |
/// | cut         | –          | dropped               | –                 | –      | –             | –     |
///
/// ¹ `noContent` if the head allows none. ² If the content is longer or shorter than its announced length.
/// ³ A failed message is reset when ours is sent, with PROTOCOL_ERROR.
///
/// The *outgoing* half describes our message:
///
/// | outgoing | sendHead | send                 | sendEnd              | sentEnd | reset, breakOff | close         |
/// |----------|----------|----------------------|----------------------|---------|-----------------|---------------|
/// | head     | content  | –                    | –                    | –       | reset           | reset         |
/// | content  | –        | content, or refused⁴ | ending, or refused⁴  | –       | reset           | reset         |
/// | ending   | –        | refused⁴             | –                    | ended⁵  | reset           | ended, reset⁶ |
/// | ended    | –        | –                    | –                    | –       | reset⁷          | –             |
/// | reset    | –        | –                    | –                    | –       | –               | –             |
///
/// ⁴ `mismatch` if the content is longer or shorter than its announced length, or comes after its end; the
/// state is unchanged.
/// ⁵ And then `reset` if the incoming message is unwanted or failed. ⁶ `ended` if the stream closed without
/// an error.
/// ⁷ `reset` only, and not if the incoming message has ended or was cut.
///
/// A reset makes an open incoming message unwanted. The stream is *closed* once neither half is open. `close`
/// reports this to an end, which then forgets the stream: `free` if our whole message was sent, otherwise
/// `abort`. `finish` is the end of the exchange, and ensures that the stream will close.
package struct StreamState: Sendable, Equatable {
    /// The message from the peer.
    package enum Incoming: Sendable, Equatable {
        /// The head is expected, on a client after any number of interim heads.
        case head
        /// Content is expected; contains the number of remaining bytes if the head announced a length.
        case content(left: Int?)
        /// The end is expected, since the head permits no content.
        case noContent
        /// The message is complete.
        case ended
        /// The message violates the protocol.
        case failed(HTTP2Fault)
        /// The rest is not read, and the stream is reset with this code once our message is sent.
        case unwanted(HTTP2Code)
        /// The stream ended before the message did.
        case cut(End)
    }

    /// Our message.
    package enum Outgoing: Sendable, Equatable {
        /// The final head has not been queued.
        case head
        /// Content follows; contains the number of remaining bytes if the head announced a length.
        case content(left: Int?)
        /// The whole message is queued.
        case ending
        /// The whole message has been sent.
        case ended
        /// The stream ended before the message did.
        case reset(HTTP2Code)
    }

    /// The end of a stream.
    package enum End: Sendable, Equatable {
        /// The stream was closed, with or without an error.
        case stream(HTTP2Code)
        /// The connection ended.
        case connection
    }

    /// The consequence of an event.
    package enum Action: Sendable, Equatable {
        case none
        /// Pass the head, content or end to the reader, and wake it.
        case deliver
        /// Drop the content, and let the peer send as many more bytes.
        case drop
        /// Report to the reader that the message violates the protocol.
        case refuse(HTTP2Fault)
        /// Pass the head, content or end to the peer.
        case send
        /// Send nothing, since the content does not have its announced length.
        case mismatch
        /// Drop the queued content, and send RST_STREAM.
        case reset(HTTP2Code)
        /// Wake the reader, since nothing more arrives.
        case wake
        /// Forget the stream, and wake both tasks; our message is complete.
        case free
        /// Forget the stream, wake both tasks, and end the exchange; our message is incomplete.
        case abort
    }

    package private(set) var incoming = Incoming.head
    package private(set) var outgoing = Outgoing.head

    /// Creates a stream without a message in either direction.
    package init() {}

    /// Whether more of the incoming message is expected.
    package var isReceiving: Bool {
        switch incoming {
        case .head, .content, .noContent: true
        case .ended, .failed, .unwanted, .cut: false
        }
    }

    /// Whether part of our message has not been sent yet.
    package var isSending: Bool {
        switch outgoing {
        case .head, .content, .ending: true
        case .ended, .reset: false
        }
    }

    /// Whether the incoming message is complete.
    package var isComplete: Bool { incoming == .ended }
    /// Whether the incoming message ended before it was complete, because of a fault or a reset by the peer.
    package var isBroken: Bool {
        switch incoming {
        case .failed, .cut: true
        case .head, .content, .noContent, .ended, .unwanted: false
        }
    }
    /// Whether neither half is open.
    package var isClosed: Bool { !isReceiving && !isSending }

    /// Whether all content of the announced length is queued but the end is not.
    package var hasSentLength: Bool { outgoing == .content(left: 0) }

    /// Whether all content of the announced length has arrived but the end has not.
    package var hasReceivedLength: Bool {
        switch incoming {
        case .content(left: 0), .noContent: true
        case .head, .content, .ended, .failed, .unwanted, .cut: false
        }
    }

    /// The fault of the incoming message, if it violates the protocol.
    package var fault: HTTP2Fault? {
        if case .failed(let fault) = incoming { fault } else { nil }
    }

    // MARK: - The incoming message

    /// Handles the head of a request or of a final response.
    package mutating func receiveHead(_ framing: BodyFraming) -> Action {
        guard case .head = incoming else { return refuse(.unfinishedTrailers) }
        incoming =
            switch framing {
            case .none: .noContent
            case .length(let length): .content(left: length)
            case .chunked, .untilClose: .content(left: nil)
            }
        return .deliver
    }

    /// Handles received content.
    package mutating func receive(_ count: Int) -> Action {
        switch incoming {
        case .content(nil): return .deliver
        case .content(let left?):
            guard count <= left else { return refuse(.contentBeyondLength) }
            incoming = .content(left: left - count)
            return .deliver
        case .head, .noContent: return count == 0 ? .none : refuse(.unexpectedContent)
        case .ended, .failed, .unwanted, .cut: return .drop
        }
    }

    /// Handles the end of the message, after its content or trailers.
    package mutating func receiveEnd() -> Action {
        switch incoming {
        case .head: return refuse(.missingPseudoField)
        case .content(let left):
            guard left ?? 0 == 0 else { return refuse(.contentBelowLength) }
        case .noContent: break
        case .ended, .failed, .unwanted, .cut: return .none
        }
        incoming = .ended
        return .deliver
    }

    /// Handles a message that violates the protocol.
    package mutating func refuse(_ fault: HTTP2Fault) -> Action {
        guard isReceiving else { return .none }
        incoming = .failed(fault)
        return .refuse(fault)
    }

    /// Stops receiving (RFC 9113 §8.1); the stream is reset once our message is sent.
    package mutating func stopReceiving(_ code: HTTP2Code) -> Action {
        guard isReceiving else { return .none }
        incoming = .unwanted(code)
        guard outgoing == .ended else { return .wake }
        return reset(code)
    }

    // MARK: - Our message

    /// Handles the queued head of a request or of a final response.
    ///
    /// - Parameter length: the announced length of the content, if content follows.
    /// - Returns: `send`, or `none` if a head was queued before.
    package mutating func sendHead(length: Int? = nil) -> Action {
        guard case .head = outgoing else { return .none }
        outgoing = .content(left: length)
        return .send
    }

    /// Handles queued content.
    package mutating func send(_ count: Int) -> Action {
        switch outgoing {
        case .content(nil): return .send
        case .content(let left?):
            guard count <= left else { return .mismatch }
            outgoing = .content(left: left - count)
            return .send
        case .ending: return count == 0 ? .none : .mismatch
        case .head, .ended, .reset: return .none
        }
    }

    /// Handles the queued end of the message.
    package mutating func sendEnd() -> Action {
        guard case .content(let left) = outgoing else { return .none }
        guard left ?? 0 == 0 else { return .mismatch }
        outgoing = .ending
        return .send
    }

    /// Handles the sent end of the message.
    package mutating func sentEnd() -> Action {
        guard outgoing == .ending else { return .none }
        outgoing = .ended
        return switch incoming {
        case .failed: reset(.protocolError)
        case .unwanted(let code): reset(code)
        default: .none
        }
    }

    // MARK: - Closing

    /// Ends the stream immediately.
    package mutating func reset(_ code: HTTP2Code) -> Action {
        switch (outgoing, incoming) {
        case (.reset, _), (.ended, .ended), (.ended, .cut): return .none
        default: break
        }
        if isReceiving { incoming = .unwanted(code) }
        outgoing = .reset(code)
        return .reset(code)
    }

    /// Aborts our message before it is complete, so that the peer does not mistake it for a complete one.
    package mutating func breakOff() -> Action {
        switch outgoing {
        case .head: reset(.cancel)
        case .content, .ending: reset(.internalError)
        case .ended, .reset: .none
        }
    }

    /// Ends the exchange; nobody reads or writes any more.
    ///
    /// - Returns: a reset if our message is incomplete, since nobody would complete it.
    package mutating func finish() -> Action {
        let action = stopReceiving(.noError)
        return switch outgoing {
        case .head, .content: breakOff()
        case .ending, .ended, .reset: action
        }
    }

    /// Handles the close of the stream in both directions.
    package mutating func close(_ end: End) -> Action {
        if isReceiving { incoming = .cut(end) }
        switch (outgoing, end) {
        case (.ended, _), (.ending, .stream(.noError)): outgoing = .ended
        case (.reset, _): break
        case (_, .stream(let code)): outgoing = .reset(code)
        case (_, .connection): outgoing = .reset(.cancel)
        }
        return outgoing == .ended ? .free : .abort
    }
}
