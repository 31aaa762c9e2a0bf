import NetproxyHTTP1
import NetproxyHTTPMessage
import Testing

@testable import NetproxyHTTP2

/// Transition tables of `StreamState`, tested without a stream.
@Suite struct StreamStateTests {
    typealias Incoming = StreamState.Incoming
    typealias Outgoing = StreamState.Outgoing
    typealias Action = StreamState.Action

    private enum Event: Hashable {
        case receiveHead(Int?), receiveEmptyHead, receive(Int), receiveEnd, refuse
        case stopReceiving
        case sendHead, send(Int), sendEnd, sentEnd
        case reset, breakOff, finish
        case close(HTTP2Code?)

        func apply(to state: inout StreamState) -> Action {
            switch self {
            case .receiveHead(let length):
                state.receiveHead(length.map { .length($0) } ?? .chunked)
            case .receiveEmptyHead: state.receiveHead(.none)
            case .receive(let count): state.receive(count)
            case .receiveEnd: state.receiveEnd()
            case .refuse: state.refuse(.connectionField)
            case .stopReceiving: state.stopReceiving(.noError)
            case .sendHead: state.sendHead(length: 5)
            case .send(let count): state.send(count)
            case .sendEnd: state.sendEnd()
            case .sentEnd: state.sentEnd()
            case .reset: state.reset(.enhanceYourCalm)
            case .breakOff: state.breakOff()
            case .finish: state.finish()
            case .close(let code): state.close(code.map { .stream($0) } ?? .connection)
            }
        }
    }

    // MARK: - Every state

    /// The incoming states, and the events that lead to each.
    private static let incoming: [(state: Incoming, events: [Event])] = [
        (.head, []),
        (.content(left: nil), [.receiveHead(nil)]),
        (.content(left: 3), [.receiveHead(5), .receive(2)]),
        (.content(left: 0), [.receiveHead(5), .receive(5)]),
        (.noContent, [.receiveEmptyHead]),
        (.ended, [.receiveHead(nil), .receiveEnd]),
        (.failed(.connectionField), [.refuse]),
        (.unwanted(.noError), [.stopReceiving]),
    ]
    /// The outgoing states, and the events that lead to each.
    private static let outgoing: [(state: Outgoing, events: [Event])] = [
        (.head, []),
        (.content(left: 5), [.sendHead]),
        (.content(left: 0), [.sendHead, .send(5)]),
        (.ending, [.sendHead, .send(5), .sendEnd]),
        (.ended, [.sendHead, .send(5), .sendEnd, .sentEnd]),
        (.reset(.enhanceYourCalm), [.reset]),
    ]

    private static func state(after events: [Event]) -> StreamState {
        var state = StreamState()
        for event in events { _ = event.apply(to: &state) }
        return state
    }

    private func check(
        _ before: StreamState,
        _ event: Event,
        _ expected: (Incoming, Outgoing, Action),
        location: SourceLocation = #_sourceLocation
    ) {
        var state = before
        let action = event.apply(to: &state)
        let comment: Comment = "\(event) in \(before)"
        #expect(state.incoming == expected.0, comment, sourceLocation: location)
        #expect(state.outgoing == expected.1, comment, sourceLocation: location)
        #expect(action == expected.2, comment, sourceLocation: location)
    }

    @Test func `events lead to every state`() {
        for row in Self.incoming { #expect(Self.state(after: row.events).incoming == row.state) }
        for row in Self.outgoing { #expect(Self.state(after: row.events).outgoing == row.state) }
    }

    // MARK: - The incoming message

    /// The state after each event and the action, for each incoming state; the outgoing state is `head`.
    private static func incomingRows(_ state: Incoming) -> [(Event, Incoming, Action)] {
        func failed(_ fault: HTTP2Fault) -> (Incoming, Action) { (.failed(fault), .refuse(fault)) }
        func rows(
            head: (Incoming, Action),
            some: (Incoming, Action),
            more: (Incoming, Action),
            nothing: (Incoming, Action),
            end: (Incoming, Action)
        ) -> [(Event, Incoming, Action)] {
            [
                (.receiveHead(5), head.0, head.1), (.receive(3), some.0, some.1),
                (.receive(6), more.0, more.1), (.receive(0), nothing.0, nothing.1),
                (.receiveEnd, end.0, end.1),
                (.refuse, .failed(.connectionField), .refuse(.connectionField)),
                (.stopReceiving, .unwanted(.noError), .wake),
                (.close(.noError), .cut(.stream(.noError)), .abort),
                (.close(.cancel), .cut(.stream(.cancel)), .abort),
                (.close(nil), .cut(.connection), .abort),
            ]
        }
        let second = failed(.unfinishedTrailers)
        switch state {
        case .head:
            return rows(
                head: (.content(left: 5), .deliver),
                some: failed(.unexpectedContent),
                more: failed(.unexpectedContent),
                nothing: (.head, .none),
                end: failed(.missingPseudoField)
            )
        case .content(nil):
            let same = (Incoming.content(left: nil), Action.deliver)
            return rows(
                head: second,
                some: same,
                more: same,
                nothing: same,
                end: (.ended, .deliver)
            )
        case .content(let left?):
            return rows(
                head: second,
                some: left == 3 ? (.content(left: 0), .deliver) : failed(.contentBeyondLength),
                more: failed(.contentBeyondLength),
                nothing: (.content(left: left), .deliver),
                end: left == 0 ? (.ended, .deliver) : failed(.contentBelowLength)
            )
        case .noContent:
            return rows(
                head: second,
                some: failed(.unexpectedContent),
                more: failed(.unexpectedContent),
                nothing: (.noContent, .none),
                end: (.ended, .deliver)
            )
        case .ended, .failed, .unwanted, .cut:
            // A finished message stays unchanged.
            return [
                (.receiveHead(5), state, .none), (.receive(3), state, .drop),
                (.receive(6), state, .drop), (.receive(0), state, .drop),
                (.receiveEnd, state, .none), (.refuse, state, .none),
                (.stopReceiving, state, .none), (.close(.noError), state, .abort),
                (.close(.cancel), state, .abort), (.close(nil), state, .abort),
            ]
        }
    }

    @Test func `every event has one outcome in each incoming state`() {
        var states = Self.incoming.map { Self.state(after: $0.events) }
        // A cut needs a close, which also ends the outgoing message.
        states += [Self.state(after: [.close(.cancel)]), Self.state(after: [.close(nil)])]
        for state in states {
            for (event, incoming, action) in Self.incomingRows(state.incoming) {
                var outgoing = state.outgoing
                if case .close(let code) = event, outgoing == .head {
                    outgoing = .reset(code ?? .cancel)
                }
                check(state, event, (incoming, outgoing, action))
            }
        }
    }

    // MARK: - The outgoing message

    /// The state after each event and the action, for each outgoing state; the incoming message is complete.
    private static func outgoingRows(_ state: Outgoing) -> [(Event, Outgoing, Action)] {
        let calm = Outgoing.reset(.enhanceYourCalm)
        func row(_ event: Event, _ next: Outgoing? = nil, _ action: Action = .none) -> (
            Event, Outgoing, Action
        ) { (event, next ?? state, action) }
        func resets(breakingOff code: HTTP2Code) -> [(Event, Outgoing, Action)] {
            [
                row(.reset, calm, .reset(.enhanceYourCalm)),
                row(.breakOff, .reset(code), .reset(code)),
                row(.close(.cancel), .reset(.cancel), .abort),
                row(.close(nil), .reset(.cancel), .abort),
            ]
        }
        switch state {
        case .head:
            return resets(breakingOff: .cancel) + [
                row(.sendHead, .content(left: 5), .send), row(.send(5)), row(.send(6)),
                row(.sendEnd), row(.sentEnd), row(.finish, .reset(.cancel), .reset(.cancel)),
                row(.close(.noError), .reset(.noError), .abort),
            ]
        case .content(let left):
            return resets(breakingOff: .internalError) + [
                row(.sendHead), row(.send(6), nil, .mismatch), row(.sentEnd),
                left == 5
                    ? row(.send(5), .content(left: 0), .send) : row(.send(5), nil, .mismatch),
                left == 5 ? row(.sendEnd, nil, .mismatch) : row(.sendEnd, .ending, .send),
                row(.finish, .reset(.internalError), .reset(.internalError)),
                row(.close(.noError), .reset(.noError), .abort),
            ]
        case .ending:
            return resets(breakingOff: .internalError) + [
                row(.sendHead), row(.send(0)), row(.send(5), nil, .mismatch), row(.sendEnd),
                row(.sentEnd, .ended), row(.finish), row(.close(.noError), .ended, .free),
            ]
        case .ended, .reset:
            let end: Action = state == .ended ? .free : .abort
            return [
                row(.sendHead), row(.send(5)), row(.send(6)), row(.sendEnd), row(.sentEnd),
                row(.reset), row(.breakOff), row(.finish), row(.close(.noError), nil, end),
                row(.close(.cancel), nil, end), row(.close(nil), nil, end),
            ]
        }
    }

    @Test func `every event has one outcome in each outgoing state`() {
        for row in Self.outgoing {
            let state = Self.state(after: [.receiveHead(nil), .receiveEnd] + row.events)
            #expect(state.outgoing == row.state)
            for (event, outgoing, action) in Self.outgoingRows(row.state) {
                check(state, event, (.ended, outgoing, action))
            }
        }
    }

    // MARK: - Both messages

    /// The events that affect both messages, for each pair of states.
    @Test func `a reset stream expects no more frames`() {
        for incoming in Self.incoming {
            for outgoing in Self.outgoing where outgoing.events != [.reset] {
                let before = Self.state(after: incoming.events + outgoing.events)
                var state = before
                let action = state.reset(.internalError)
                guard before.isSending || !before.isComplete, !Self.isReset(before) else {
                    #expect(state == before && action == .none)
                    continue
                }
                #expect(state.isClosed && state.outgoing == .reset(.internalError))
                #expect(action == .reset(.internalError))
                let expected: Incoming =
                    before.isReceiving ? .unwanted(.internalError) : before.incoming
                #expect(state.incoming == expected)
            }
        }
    }

    private static func isReset(_ state: StreamState) -> Bool {
        if case .reset = state.outgoing { true } else { false }
    }

    @Test func `the end of our message resets a stream with an unwanted incoming message`() {
        for row in Self.incoming {
            var state = Self.state(after: row.events + [.sendHead, .send(5), .sendEnd])
            let action = state.sentEnd()
            let code: HTTP2Code? =
                switch row.state {
                case .failed: .protocolError
                case .unwanted(let code): code
                default: nil
                }
            #expect(action == code.map { .reset($0) } ?? .none, "\(row.state)")
            #expect(state.outgoing == code.map { .reset($0) } ?? .ended, "\(row.state)")
        }
    }

    @Test func `stopReceiving after our message is sent resets the stream`() {
        for row in Self.incoming {
            let sent: [Event] = [.sendHead, .send(5), .sendEnd, .sentEnd]
            var state = Self.state(after: row.events + sent)
            let wasReceiving = state.isReceiving
            let action = state.stopReceiving(.noError)
            #expect(action == (wasReceiving ? .reset(.noError) : .none), "\(row.state)")
        }
    }

    @Test func `a finished exchange closes its stream`() {
        for incoming in Self.incoming {
            for outgoing in Self.outgoing {
                var state = Self.state(after: incoming.events + outgoing.events)
                _ = state.finish()
                #expect(!state.isReceiving)
                // A completely queued message is still sent; nothing else keeps the stream open.
                #expect(state.isClosed || state.outgoing == .ending)
                _ = state.sentEnd()
                #expect(state.isClosed)
            }
        }
    }

    @Test func `a closed stream stays closed after any event`() {
        let events: [Event] = [
            .receiveHead(nil), .receiveEmptyHead, .receive(1), .receiveEnd, .refuse,
            .stopReceiving, .sendHead, .send(1), .sendEnd, .sentEnd, .reset, .breakOff, .finish,
        ]
        for incoming in Self.incoming {
            for outgoing in Self.outgoing {
                for code: HTTP2Code? in [.noError, .cancel, nil] {
                    var state = Self.state(after: incoming.events + outgoing.events)
                    let wasSent = state.outgoing == .ending && code == .noError
                    let action = Event.close(code).apply(to: &state)
                    #expect(state.isClosed)
                    #expect(action == (wasSent || state.outgoing == .ended ? .free : .abort))
                    let closed = state
                    // An unread message may still be reset after the other message has ended.
                    for event in events where event != .reset {
                        _ = event.apply(to: &state)
                        #expect(state == closed, "\(event) in \(closed)")
                    }
                }
            }
        }
    }

    @Test(arguments: [0, 3]) func `a truncated message does not end like a complete one`(sent: Int)
    {
        var state = Self.state(after: [.receiveHead(nil), .receiveEnd, .sendHead, .send(sent)])
        let end = state.sendEnd()
        #expect(end == .mismatch)
        let action = state.breakOff()
        #expect(action == .reset(.internalError))
        let closed = state.close(.stream(.internalError))
        #expect(closed == .abort)
    }

    @Test func `breakOff before the response resets the stream with CANCEL`() {
        var state = Self.state(after: [.receiveHead(nil)])
        let action = state.breakOff()
        #expect(action == .reset(.cancel))
    }
}
