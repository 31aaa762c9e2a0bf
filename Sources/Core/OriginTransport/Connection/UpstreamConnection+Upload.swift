import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// Requests with streamed content.
extension UpstreamConnection {
    /// Whether part of the content has not been sent yet.
    var isUploading: Bool { upload?.isRunning ?? false }

    /// Sends a request with streamed content; returns when the final head of the response has arrived.
    // Never inlined: otherwise the frames of requests without a stream would reserve space for a new task.
    @inline(never)
    func sendStream(
        of request: consuming Request,
        context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        guard case .stream(let source, let length) = request.body else {
            throw fault(.aborted, in: .sending)
        }
        let started = loop.now
        let question = AwaitedResponse(to: request)
        let isExpecting = request.headers.contains(HTTPFieldName.expect)
        if let rest = try start(consume request) { try await send(rest, until: limit) }
        let upload = Upload(
            source,
            to: SocketUpload(
                over: socket,
                length,
                idle: peer.options.idleTimeout,
                lastReceived: { [weak self] in self?.lastReceived ?? 0 }
            ),
            peer,
            isExpecting: isExpecting
        )
        self.upload = upload
        upload.onEnd = { [weak self] in
            if let self { owner.uploadEnded(on: self) }
        }
        upload.start()
        do {
            try await readHead(
                answering: question,
                context: &context,
                until: limit,
                during: upload
            )
        } catch {
            await upload.end()
            throw upload.fault ?? error
        }
        // RFC 9110 §7.8: the new protocol begins after the whole request, even if the 101 comes earlier.
        if head?.status == 101 { try await upload.complete() }
        // After a 2xx the origin may continue to read while it responds. After any other status it does not
        // want the rest, nor content that it has not requested.
        if upload.isHeld || head?.status.kind != .successful { await upload.end() }
        context.timings.firstByte = Duration(elapsed: loop.now - started)
        let response = try response()
        if body == nil {
            // A complete response ends the exchange, even if part of the content has not been sent.
            self.upload = nil
            await upload.end()
        } else {
            upload.isAnswered = true
        }
        return response
    }
}
