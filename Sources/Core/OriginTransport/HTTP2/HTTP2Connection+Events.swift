import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage
import NetworkCore

/// What the origin says.
extension HTTP2Connection: HTTP2WireUser {
    func received(_ event: HTTP2Event, _ content: ByteSlice?) {
        switch event {
        case .response(let stream, let head, let ends):
            note(stream) { $0.took(head, ends: ends) }
        case .content(let stream, _):
            if let content { note(stream) { $0.took(content) } }
        case .ended(let stream, let trailers): note(stream) { $0.end(trailers) }
        case .malformed(let stream, let fault, _): note(stream) { $0.fail(.malformed(fault)) }
        case .closed(let stream, let code): closed(stream, code)
        case .sent(let stream, let count): exchanges[stream]?.sent(count)
        case .goAway:
            isLeaving = true
            owner.leaves(self)
        case .settings:
            admitted = HTTP2Connection.admission(session)
            owner.exchangeEnded(on: self)
        case .pong: pinged = nil
        case .request: break
        }
    }

    private func note(_ stream: Int32, _ change: (HTTP2Exchange) -> Void) {
        guard let exchange = exchanges[stream] else { return }
        change(exchange)
        touched.append(exchange)
    }

    private func closed(_ stream: Int32, _ code: HTTP2Code) {
        guard let exchange = exchanges[stream] else { return }
        exchange.close()
        if !exchange.isEnded { exchange.fail(code == .refusedStream ? .refused : .reset(code)) }
        touched.append(exchange)
        // It no longer counts for the origin; who reads its content has it.
        forget(stream)
    }

    func receivedAll() {
        guard !touched.isEmpty else { return }
        let exchanges = touched
        touched.removeAll(keepingCapacity: true)
        for exchange in exchanges { exchange.resumeIfNews() }
    }

    func ended(_ end: HTTP2WireEnd) {
        self.end = end
        isLeaving = true
        loop.remove(self)
        if case .fault(.unresponsive) = end { owner.distrust(address) }
        let left = exchanges.all
        exchanges = StreamTable()
        for exchange in left {
            exchange.fail(.connection(end))
            exchange.close()
            loop.remove(exchange)
            exchange.resumeIfNews()
        }
        receivedAll()
        owner.closed(self)
    }

    func error(
        of failure: HTTP2Exchange.Failure,
        on exchange: HTTP2Exchange,
        _ phase: TimeoutPhase
    ) -> any Error {
        let name = peer.origin.authority
        switch failure {
        case .refused:
            return HTTP2Refusal.unsent(refusal("refused the stream"))
        case .reset(.http11Required):
            return HTTP2Refusal.needsHTTP1(refusal("wants HTTP/1.1 for this request"))
        case .reset(let code):
            return NetworkError(
                phase == .readingBody ? .httpResponseIncomplete : .connectionTerminated,
                side: .upstream,
                detail: "\(name) reset the stream: \(code)"
            )
        case .malformed(let fault):
            return NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "\(name) sent a malformed answer: \(fault.reason)"
            )
        case .connection(.violation(let reason)):
            return NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "\(name) broke the rules of HTTP/2: \(reason)"
            )
        case .connection(.complete):
            return peer.error(.closedByPeer, in: phase, mayBeStale: served > 1)
        case .connection(.fault(let fault)):
            return peer.error(
                fault,
                in: phase,
                mayBeStale: served > 1 && !exchange.hasAnswered
            )
        }
    }

    /// The error of a request for which the connection has ended too soon.
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
