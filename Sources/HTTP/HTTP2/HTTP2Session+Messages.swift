import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// What frames mean for the messages.
extension HTTP2Session {
    /// A field block begins.
    func beginBlock(on id: Int32, opensRequest: Bool) {
        isInBlock = true
        continuations = 0
        if opensRequest {
            open(id, HTTP2Stream(.get))
            return unsafe block.begin(.request)
        }
        let hasHead = unsafe streams[id]?.hasHead ?? false
        unsafe block.begin(role == .client && !hasHead ? .response : .trailers)
    }

    /// A field block is complete.
    func endBlock(on id: Int32, endingMessage ends: Bool) {
        isInBlock = false
        guard let stream = unsafe streams[id], !stream.isRefused else { return }
        unsafe block.end(endingMessage: ends)
        do throws(HTTP2Fault) {
            if let fault = unsafe block.fault { throw fault }
            switch unsafe block.kind {
            case .request: try beginRequest(id, stream, ends)
            case .response: try beginResponse(id, stream, ends)
            case .trailers: try endWithTrailers(id, stream, ends)
            }
        } catch {
            refuse(id, stream, error)
        }
    }

    private func beginRequest(
        _ id: Int32,
        _ stream: HTTP2Stream,
        _ ends: Bool
    ) throws(HTTP2Fault) {
        let text = unsafe block.output
        let decoded: (head: RequestHead, consumed: Int)?
        do throws(HTTP1Error) {
            decoded = try requestDecoder.decode(text.span)
        } catch {
            // A decoder that has refused a head is spent.
            requestDecoder = RequestHeadDecoder(limits: limits.messages)
            throw .message(error)
        }
        guard let (head, _) = decoded else { throw .message(.cutShort) }
        let request = HTTP2Stream(head.method)
        open(id, request)
        try request.begin(head.framing, ends: ends)
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
            // RFC 9113 §8.6: there is no switch of protocols.
            guard !ends, head.status != 101 else { throw .malformedPseudoField }
            unsafe events.append(.response(id, head, ends: false))
            return
        }
        if head.framing == .untilClose { head.framing = .none }
        try stream.begin(head.framing, ends: ends)
        unsafe events.append(.response(id, head, ends: ends))
    }

    private func endWithTrailers(
        _ id: Int32,
        _ stream: HTTP2Stream,
        _ ends: Bool
    ) throws(HTTP2Fault) {
        guard stream.hasHead, ends else { throw .unfinishedTrailers }
        let text = unsafe block.output
        let trailers: HTTPHeaders?
        do throws(HTTP1Error) {
            trailers = try TrailerSection.decode(text.span, limits: limits.messages)
        } catch {
            throw .message(error)
        }
        try stream.end()
        unsafe events.append(.ended(id, trailers: trailers))
    }

    /// Content arrives.
    func receiveContent(_ range: Range<Int>, on id: Int32) {
        guard let stream = unsafe streams[id], !stream.isRefused else {
            return arrived(range.count, on: id, isDropped: true)
        }
        do throws(HTTP2Fault) {
            try stream.receive(range.count)
        } catch {
            arrived(range.count, on: id, isDropped: true)
            return refuse(id, stream, error)
        }
        arrived(range.count, on: id, isDropped: false)
        unsafe events.append(.content(id, range))
    }

    /// The message ends with content, or with none.
    func endContent(on id: Int32) {
        guard let stream = unsafe streams[id], !stream.isRefused else { return }
        do throws(HTTP2Fault) {
            guard stream.hasHead else { throw .missingPseudoField }
            try stream.end()
        } catch {
            return refuse(id, stream, error)
        }
        unsafe events.append(.ended(id, trailers: nil))
    }
}
