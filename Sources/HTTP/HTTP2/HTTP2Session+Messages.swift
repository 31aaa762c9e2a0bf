import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// The messages in the received frames.
extension HTTP2Session {
    /// Handles the beginning of a field block.
    func beginBlock(on id: Int32, opensRequest: Bool) {
        isInBlock = true
        continuations = 0
        if opensRequest {
            open(id, HTTP2Stream(.get))
            return unsafe block.begin(.request)
        }
        let incoming = unsafe streams[id]?.state.incoming ?? .head
        unsafe block.begin(role == .client && incoming == .head ? .response : .trailers)
    }

    /// Handles the end of a field block.
    func endBlock(on id: Int32, endingMessage ends: Bool) {
        isInBlock = false
        guard let stream = unsafe streams[id], stream.state.isReceiving else { return }
        unsafe block.end(endingMessage: ends)
        do throws(HTTP2Fault) {
            if let fault = unsafe block.fault { throw fault }
            switch unsafe block.kind {
            case .request: try beginRequest(id, ends)
            case .response: try beginResponse(id, stream, ends)
            case .trailers: try endWithTrailers(id, stream, ends)
            }
        } catch {
            // A complete head has replaced the stream in the table.
            guard let stream = unsafe streams[id] else { return }
            _ = deliver(stream.state.refuse(error), on: id, stream)
        }
    }

    private func beginRequest(_ id: Int32, _ ends: Bool) throws(HTTP2Fault) {
        let text = unsafe block.output
        let decoded: (head: RequestHead, consumed: Int)?
        do throws(HTTP1Error) {
            decoded = try requestDecoder.decode(text.span)
        } catch {
            // A decoder cannot be reused after an error.
            requestDecoder = RequestHeadDecoder(limits: limits.messages)
            throw .message(error)
        }
        guard let (head, _) = decoded else { throw .message(.cutShort) }
        let stream = HTTP2Stream(head.method)
        open(id, stream)
        guard begin(head.framing, ends, on: id, stream) else { return }
        unsafe events.append(.request(id, head, ends: ends))
    }

    private func beginResponse(
        _ id: Int32,
        _ stream: HTTP2Stream,
        _ ends: Bool
    ) throws(HTTP2Fault) {
        let text = unsafe block.output
        let decoded: (head: ResponseHead, consumed: Int)?
        do throws(HTTP1Error) {
            decoded = try responseDecoder.decode(text.span, answering: stream.method)
        } catch {
            responseDecoder = ResponseHeadDecoder(limits: limits.messages)
            throw .message(error)
        }
        guard var (head, _) = decoded else { throw .message(.cutShort) }
        if head.status.kind == .informational {
            // RFC 9113 §8.6: HTTP/2 has no 101.
            guard !ends, head.status != 101 else { throw .malformedPseudoField }
            unsafe events.append(.response(id, head, ends: false))
            return
        }
        if head.framing == .untilClose { head.framing = .none }
        guard begin(head.framing, ends, on: id, stream) else { return }
        unsafe events.append(.response(id, head, ends: ends))
    }

    private func endWithTrailers(
        _ id: Int32,
        _ stream: HTTP2Stream,
        _ ends: Bool
    ) throws(HTTP2Fault) {
        guard ends else { throw .unfinishedTrailers }
        let text = unsafe block.output
        let trailers: HTTPHeaders?
        do throws(HTTP1Error) {
            trailers = try TrailerSection.decode(text.span, limits: limits.messages)
        } catch {
            throw .message(error)
        }
        guard deliver(stream.state.receiveEnd(), on: id, stream) else { return }
        unsafe events.append(.ended(id, trailers: trailers))
    }

    /// Handles received content.
    func receiveContent(_ range: Range<Int>, on id: Int32) {
        guard let stream = unsafe streams[id],
            deliver(stream.state.receive(range.count), on: id, stream)
        else { return dropped(range.count, on: id) }
        receivedContent(range.count, on: stream)
        unsafe events.append(.content(id, range))
    }

    /// Handles the end of a message without trailers.
    func endContent(on id: Int32) {
        guard let stream = unsafe streams[id],
            deliver(stream.state.receiveEnd(), on: id, stream)
        else { return }
        unsafe events.append(.ended(id, trailers: nil))
    }

    /// Begins a message, and ends it if its head does; returns whether the head was delivered.
    private func begin(
        _ framing: BodyFraming,
        _ ends: Bool,
        on id: Int32,
        _ stream: HTTP2Stream
    ) -> Bool {
        guard deliver(stream.state.receiveHead(framing), on: id, stream) else { return false }
        return !ends || deliver(stream.state.receiveEnd(), on: id, stream)
    }

    /// Performs an action on the incoming message; returns whether to deliver the event.
    private func deliver(
        _ action: StreamState.Action,
        on id: Int32,
        _ stream: HTTP2Stream
    ) -> Bool {
        if case .refuse(let fault) = action { report(fault, on: id, stream) }
        return action == .deliver
    }
}
