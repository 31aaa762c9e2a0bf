import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// Sends content that streams, in a separate task: the origin may answer before it has
/// read it all.
extension UpstreamConnection {
    /// Whether some of the content is still to be sent.
    var isUploading: Bool { upload?.isRunning ?? false }

    /// Sends a request whose content streams; returns when the head of the final response is there.
    // Never inlined: requests without a stream would make room for what a new task needs.
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
        let question = Question(request)
        let isExpecting = request.headers.contains(HTTPFieldName.expect)
        if let rest = try start(consume request) { try await send(rest, until: limit) }
        let upload = Upload(source, length.map { .length($0) } ?? .chunked, isOpen: !isExpecting)
        begin(upload)
        try await awaitHead(
            answering: question,
            during: upload,
            context: &context,
            until: limit
        )
        context.timings.firstByte = Duration(elapsed: loop.now - started)
        let response = try response()
        // After a complete response the exchange is over, whatever is left of the content.
        if body == nil {
            self.upload = nil
            await end(upload)
        }
        return response
    }

    private func begin(_ upload: Upload) {
        self.upload = upload
        let (bound, ours) = (LoopBound(self, on: loop), LoopBound(upload, on: loop))
        upload.task = Task(executorPreference: loop) {
            await ours.value.wait()
            await bound.value.send(ours.value)
        }
    }

    /// Waits for the final head while the content is sent.
    ///
    /// The task goes on after a 2xx head: the origin may still read while it answers. After any
    /// other, the rest is not wanted.
    private func awaitHead(
        answering question: Question,
        during upload: Upload,
        context: inout RequestContext,
        until limit: UInt64
    ) async throws {
        let task = upload.task
        do {
            try await withTaskCancellationHandler {
                try await readHead(
                    answering: question,
                    context: &context,
                    until: limit,
                    during: upload
                )
            } onCancel: {
                task?.cancel()
            }
        } catch {
            upload.close()
            await end(upload)
            throw upload.fault ?? error
        }
        let isWanted = upload.isOpen && head?.status.kind == .successful
        upload.close()
        if !isWanted { await end(upload) }
    }

    /// Cancels what is left of the content: the connection cannot be used again.
    func cancel(_ upload: Upload) {
        if upload.isRunning {
            upload.isRunning = false
            mayReuse = false
            upload.source.cancel()
        }
        upload.task?.cancel()
    }

    /// Cancels what is left of the content, and returns when its source is no longer read.
    private func end(_ upload: Upload) async {
        cancel(upload)
        await upload.task?.value
    }

    // MARK: - The task

    /// Sends the content.
    ///
    /// A fault of the source ends the exchange; one of the origin does not, since it may have
    /// answered already.
    private func send(_ upload: Upload) async {
        do {
            try Task.checkCancellation()
            try await sendPieces(of: upload)
            upload.isRunning = false
        } catch is CancellationError {
            return
        } catch let error as WriteFault {
            if isAnswering { return giveUp(upload) }
            guard error.fault == .timedOut else {
                // Its answer may be here all the same, and from now on has a deadline.
                if upload.isRunning { upload.source.cancel() }
                return giveUp(upload)
            }
            upload.fault = fault(.timedOut, in: .sending)
            socket.abort()
        } catch {
            // Cancelled: the source's error is not the exchange's.
            guard upload.isRunning else { return }
            if isAnswering, UpstreamConnection.isTimeout(error) { return giveUp(upload) }
            upload.fault = error
            socket.abort()
        }
    }

    private func sendPieces(of upload: Upload) async throws {
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        var writer = BodyWriter(upload.framing)
        do {
            while let piece = try await upload.source.next() {
                let content = try writer.frame(piece, into: output)
                try await write(output, content)
                try Task.checkCancellation()
            }
            // A cancelled source may just end: that is not the end of the content.
            try Task.checkCancellation()
            try writer.end(into: output)
        } catch is BodyWriter.LengthMismatch {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: BodyWriter.LengthMismatch.reason
            )
        }
        if output.count > 0 { try await write(output, nil) }
    }

    /// Whether the content of the answer is on its way.
    private var isAnswering: Bool { body != nil }

    /// Stops sending and lets the response go on: a slow app may still be reading it.
    private func giveUp(_ upload: Upload) {
        upload.isRunning = false
        mayReuse = false
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        let kind = (error as? NetworkError)?.kind
        return kind == .connectionReadTimeout || kind == .requestBodyTimeout
    }

    private struct WriteFault: Error {
        let fault: IOError
    }

    /// Writes a piece; a cancelled task ends the wait for the kernel, and only that: the answer may be
    /// on its way.
    private func write(_ output: OutputBuffer, _ piece: ByteSlice?) async throws {
        var piece = piece
        do throws(IOError) {
            guard let written = try socket.writeNow(output, &piece) else { return }
            let idle = pool.options.idleTimeout
            let bound = LoopBound(socket, on: loop)
            let fault = await withTaskCancellationHandler {
                await IOError.thrown { [piece] () async throws(IOError) in
                    try await socket.write(output, piece, from: written, idle: idle)
                }
            } onCancel: {
                bound.loop.submit { bound.value.cancelWrite() }
            }
            if let fault { throw fault }
        } catch {
            throw WriteFault(fault: error)
        }
    }
}
