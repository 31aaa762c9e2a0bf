import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetworkCore

/// The events of the origin.
extension HTTP2Connection: HTTP2WireUser {
    func received(_ event: HTTP2Event, _ content: ByteSlice?) {
        switch event {
        case .response(let stream, let head, let ends):
            exchanges[stream]?.took(head, ends: ends)
        case .content(let stream, _):
            guard let content else { return }
            guard let exchange = exchanges[stream] else {
                return session.consumed(content.count, on: stream)
            }
            exchange.stream.receive(content)
        case .ended(let stream, let trailers): exchanges[stream]?.end(trailers)
        case .malformed(let stream, let fault, _): exchanges[stream]?.fail(fault)
        case .closed(let stream, let code):
            if let exchange = exchanges[stream], exchange.isRefusal(code) {
                admission.refused(serving: exchanges.count - 1)
            }
            // The stream no longer counts for the origin; the reader already has its content.
            _ = exchanges[stream]?.stream.close(.stream(code))
            forget(stream)
        case .sent(let stream, let count): exchanges[stream]?.stream.sent(count)
        case .goAway:
            isLeaving = true
            owner.leaves(self)
        case .settings: settled()
        case .pong, .request: break
        }
    }

    /// The events have already woken the readers.
    func receivedAll() {
        if test.isRunning { passTest() }
        unread.watch(self)
    }

    func ended(_ end: HTTP2WireEnd) {
        self.end = end
        isLeaving = true
        removeTimers()
        unread.closed = StreamTable()
        if case .fault(.unresponsive) = end { owner.distrust(address) }
        let left = exchanges.all
        exchanges = StreamTable()
        for exchange in left {
            _ = exchange.stream.close(.connection)
            exchange.stream.removeTimers()
        }
        owner.closed(self)
    }

    /// Returns the error of an exchange with a broken response; `nil` for any other exchange.
    func error(of exchange: HTTP2Exchange, _ phase: TimeoutPhase) -> (any Error)? {
        if let cancellation = exchange.cancellation { return cancellation }
        guard exchange.stream.state.isBroken else { return nil }
        let name = peer.origin.authority
        switch exchange.stream.state.incoming {
        case .head, .content, .noContent, .ended, .unwanted: return nil
        case .failed(let fault):
            return NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "\(name) sent a malformed response: \(fault.reason)"
            )
        case .cut(.stream(let code)) where exchange.isRefusal(code):
            let error = refusal("refused the stream: \(code)")
            // A used connection with a GOAWAY was as stale as an idle one that the origin closes.
            return isLeaving && served > 1
                ? HTTP2Refusal.unsent(error) : HTTP2Refusal.refused(error)
        case .cut(.stream(.http11Required)):
            return HTTP2Refusal.needsHTTP1(refusal("wants HTTP/1.1 for this request"))
        case .cut(.stream(let code)):
            return NetworkError(
                phase == .readingBody ? .httpResponseIncomplete : .connectionTerminated,
                side: .upstream,
                detail: "\(name) reset the stream: \(code)"
            )
        case .cut(.connection): return connectionError(of: exchange, phase)
        }
    }

    private func connectionError(
        of exchange: HTTP2Exchange,
        _ phase: TimeoutPhase
    ) -> NetworkError {
        switch end {
        case .violation(let reason):
            NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "\(peer.origin.authority) broke the rules of HTTP/2: \(reason)"
            )
        case .complete, nil: peer.error(.closedByPeer, in: phase, mayBeStale: served > 1)
        case .fault(let fault):
            peer.error(fault, in: phase, mayBeStale: served > 1 && !exchange.hasHead)
        }
    }

    /// Returns the error of a request that was not sent because the connection ended.
    func unsent(because end: HTTP2WireEnd) -> NetworkError {
        switch end {
        case .fault(let fault): peer.error(fault, in: .connecting)
        case .complete, .violation: refusal("ended the connection at once")
        }
    }

    func refusal(_ what: String) -> NetworkError {
        NetworkError(
            .connectionTerminated,
            side: .upstream,
            retry: .safe,
            detail: "\(peer.origin.authority) \(what)"
        )
    }
}

extension HTTP2Exchange {
    /// Whether the reset with this code says that the origin has not processed the request.
    ///
    /// REFUSED_STREAM says so (RFC 9113 §8.7), and nghttp2 uses it for the streams beyond a GOAWAY. Servers of
    /// gRPC also reset streams that arrive before the acknowledgment of their SETTINGS.
    func isRefusal(_ code: HTTP2Code) -> Bool {
        code == .refusedStream || code == .enhanceYourCalm && isEarly && !hasHead
    }
}
