package import NetproxyHTTP1

/// The state of one stream (RFC 9113 §5.1, §8.1): which event is allowed when, and its consequence.
///
/// A value without I/O. `HTTP2Stream` reports frames to one, and the two ends of an exchange, `HTTP2Exchange` and
/// `DownstreamStream`, report the events of the session to theirs. They perform the returned actions.
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
/// ⁴ `mismatch` if the content is longer or shorter than its announced length, or comes after its end; the state
/// stays.
/// ⁵ And then `reset` if the incoming message is unwanted or failed. ⁶ `ended` if the stream closed without an error.
/// ⁷ `reset` only, and not if the incoming message has ended or was cut.
///
/// A reset makes an open incoming message unwanted. The stream is *closed* once neither half is open. `close` reports
/// that to an end, which forgets the stream then: `free` if our message was sent as a whole, otherwise `abort`.
/// `finish` is the end of the exchange: it makes sure that the stream is going to close.
package struct StreamState: Sendable, Equatable {
    /// The message from the peer.
    package enum Incoming: Sendable, Equatable {
        /// The head is expected, on a client after any number of interim ones.
        case head
        /// Content is expected, and the number of bytes that are left if the head announced a length.
        case content(left: Int?)
        /// The end is expected: the head allows no content.
        case noContent
        /// The message is complete.
        case ended
        /// The message breaks the rules.
        case failed(HTTP2Fault)
        /// The rest is not read. The stream is reset with this code once our message is sent.
        case unwanted(HTTP2Code)
        /// The stream ended before the message did.
        case cut(End)
    }

    /// Our message.
    package enum Outgoing: Sendable, Equatable {
        /// The final head has not been queued.
        case head
        /// Content follows, and the number of bytes that are left if the head announced a length.
        case content(left: Int?)
        /// All of the message is queued.
        case ending
        /// All of the message is on its way.
        case ended
        /// The stream ended before the message did.
        case reset(HTTP2Code)
    }

    /// The end of a stream.
    package enum End: Sendable, Equatable {
        /// The stream was closed, with an error or without.
        case stream(HTTP2Code)
        /// The connection ended.
        case connection
    }

    /// The consequence of an event.
    package enum Action: Sendable, Equatable {
        case none
        /// Hand the head, content or end to the reader, and wake it.
        case deliver
        /// Drop the content, and let the peer send as much more.
        case drop
        /// Tell the reader that the message breaks the rules.
        case refuse(HTTP2Fault)
        /// Pass the head, content or end to the peer.
        case send
        /// Send nothing: the content does not have its announced length.
        case mismatch
        /// Drop the queued content, and send RST_STREAM.
        case reset(HTTP2Code)
        /// Wake the reader: nothing more comes.
        case wake
        /// Forget the stream, and wake both tasks: our message is complete.
        case free
        /// The same, and end the exchange: our message is not complete.
        case abort
    }

    package private(set) var incoming = Incoming.head
    package private(set) var outgoing = Outgoing.head

    /// A stream without a message in either direction.
    package init() {}

    /// Whether more of the incoming message is expected.
    package var isReceiving: Bool {
        switch incoming {
        case .head, .content, .noContent: true
        case .ended, .failed, .unwanted, .cut: false
        }
    }

    /// Whether our message, or some of it, is still to be sent.
    package var isSending: Bool {
        switch outgoing {
        case .head, .content, .ending: true
        case .ended, .reset: false
        }
    }

    /// Whether the incoming message is complete.
    package var isComplete: Bool { incoming == .ended }
    /// Whether the incoming message ended before it was complete, by a fault or a reset of the peer.
    package var isBroken: Bool {
        switch incoming {
        case .failed, .cut: true
        case .head, .content, .noContent, .ended, .unwanted: false
        }
    }
    /// Whether neither half is open.
    package var isClosed: Bool { !isReceiving && !isSending }

    /// Whether all content of the announced length is queued, and the end is not.
    package var hasSentLength: Bool { outgoing == .content(left: 0) }

    /// The rule that the incoming message breaks.
    package var fault: HTTP2Fault? {
        if case .failed(let fault) = incoming { fault } else { nil }
    }

    // MARK: - The incoming message

    /// The head of a request or of a final response has arrived.
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

    /// Content has arrived.
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

    /// The message ends, with content or with trailers.
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

    /// The message breaks a rule.
    package mutating func refuse(_ fault: HTTP2Fault) -> Action {
        guard isReceiving else { return .none }
        incoming = .failed(fault)
        return .refuse(fault)
    }

    /// The rest of the message is not wanted (RFC 9113 §8.1): the stream is reset once our message is sent.
    package mutating func stopReceiving(_ code: HTTP2Code) -> Action {
        guard isReceiving else { return .none }
        incoming = .unwanted(code)
        guard outgoing == .ended else { return .wake }
        return reset(code)
    }

    // MARK: - Our message

    /// The head of a request or of a final response is queued.
    ///
    /// - Parameter length: the announced length of the content, if content follows.
    /// - Returns: `send`, or `none` if a head was queued before.
    package mutating func sendHead(length: Int? = nil) -> Action {
        guard case .head = outgoing else { return .none }
        outgoing = .content(left: length)
        return .send
    }

    /// Content is queued.
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

    /// The end of the message is queued.
    package mutating func sendEnd() -> Action {
        guard case .content(let left) = outgoing else { return .none }
        guard left ?? 0 == 0 else { return .mismatch }
        outgoing = .ending
        return .send
    }

    /// The end of the message is on its way.
    package mutating func sentEnd() -> Action {
        guard outgoing == .ending else { return .none }
        outgoing = .ended
        return switch incoming {
        case .failed: reset(.protocolError)
        case .unwanted(let code): reset(code)
        default: .none
        }
    }

    // MARK: - The end

    /// The stream ends at once.
    package mutating func reset(_ code: HTTP2Code) -> Action {
        switch (outgoing, incoming) {
        case (.reset, _), (.ended, .ended), (.ended, .cut): return .none
        default: break
        }
        if isReceiving { incoming = .unwanted(code) }
        outgoing = .reset(code)
        return .reset(code)
    }

    /// The message ends before it is complete: the peer must not take it for a complete one.
    package mutating func breakOff() -> Action {
        switch outgoing {
        case .head: reset(.cancel)
        case .content, .ending: reset(.internalError)
        case .ended, .reset: .none
        }
    }

    /// The exchange is over: nobody reads or writes any more.
    ///
    /// - Returns: a reset if our message is not complete, since nobody would complete it.
    package mutating func finish() -> Action {
        let action = stopReceiving(.noError)
        return switch outgoing {
        case .head, .content: breakOff()
        case .ending, .ended, .reset: action
        }
    }

    /// The stream is closed: nothing comes or goes.
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
