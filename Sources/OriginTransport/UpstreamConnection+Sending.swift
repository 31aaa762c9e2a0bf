import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// The way out: the head, and the content if it is here or streams.
extension UpstreamConnection {
    /// What the kernel did not take at once.
    struct Unsent {
        let output: OutputBuffer
        let whole: ByteSlice?
        let offset: Int
    }

    /// Writes the head, and the content if it is here; nothing is left if the kernel takes it at once.
    ///
    /// The request is gone then, unless it is kept for another attempt: the next one is put together in
    /// its memory, while that is warm.
    @inline(never)
    func start(_ request: consuming Request) throws -> Unsent? {
        let framing: BodyFraming
        var whole: ByteSlice?
        switch request.body {
        case .empty, .tunnel: framing = .none
        case .bytes(let bytes):
            framing = .length(bytes.count)
            whole = bytes
        case .stream(_, let length): framing = length.map { .length($0) } ?? .chunked
        }
        let output = loop.outputs.take()
        HeadEncoder.encodeRequest(
            method: request.method,
            target: pool.targetPrefix.isEmpty ? request.target : target(forProxy: request.target),
            host: request.origin.authority,
            headers: request.headers,
            framing: framing,
            hopFields: HopFields.of(request.headers),
            into: output
        )
        do throws(IOError) {
            let deadline = loop.deadline(after: pool.options.idleTimeout)
            if request.body.isReplayable, try socket.post(output, whole, until: deadline) {
                return nil
            }
            if let offset = try socket.writeNow(output, &whole) {
                return Unsent(output: output, whole: whole, offset: offset)
            }
        } catch {
            loop.outputs.give(output)
            try forgive(error)
            return nil
        }
        loop.outputs.give(output)
        return nil
    }

    func send(_ rest: Unsent, until limit: UInt64) async throws {
        defer { loop.outputs.give(rest.output) }
        let deadline = min(loop.deadline(after: pool.options.idleTimeout), limit)
        do throws(IOError) {
            try await abortable { [socket] in
                await socket.settleWritten(
                    rest.output,
                    rest.whole,
                    from: rest.offset,
                    until: deadline
                )
            }
        } catch {
            try forgive(error)
        }
    }

    /// Lets a close pass while the request is sent: the origin may have answered before it closed, so
    /// the head is looked for all the same.
    private func forgive(_ error: IOError) throws {
        guard error == .closedByPeer else { throw fault(error, in: .sending) }
        mayReuse = false
    }

    /// The target in absolute-form, for the proxy on the way (RFC 9112 §3.2.2).
    private func target(forProxy target: String) -> String {
        target == "*" ? pool.targetPrefix : pool.targetPrefix + target
    }

    /// A body on its way out, and the task that sends it.
    final class Upload {
        let source: any BodySource
        let task: Task<Void, Never>

        init(source: any BodySource, task: Task<Void, Never>) {
            self.source = source
            self.task = task
        }
    }

    /// Sends the content while the answer may be coming.
    // Never inlined: requests without a stream would make room for what a new task needs.
    @inline(never)
    func sendStream(
        of request: consuming Request,
        context: inout RequestContext,
        until limit: UInt64
    ) async throws -> Response {
        let started = loop.now
        let (question, body) = (Question(request), request.body)
        let gate = UploadGate(isOpen: !request.headers.contains(HTTPFieldName.expect))
        if let rest = try start(consume request) { try await send(rest, until: limit) }
        try await upload(body, through: gate, answering: question, context: &context)
        context.timings.firstByte = Duration(elapsed: loop.now - started)
        let response = try response()
        // Behind a whole answer the exchange is over, and with it what is left of the content.
        if self.body == nil { await endUpload() }
        return response
    }

    /// Waits for the final head while a task of its own sends the content.
    ///
    /// The task goes on behind a head that says yes: the origin may read on while it answers. Behind
    /// any other, nobody wants the rest.
    private func upload(
        _ body: HTTPBody,
        through gate: UploadGate,
        answering question: Question,
        context: inout RequestContext
    ) async throws {
        guard case .stream(let source, let length) = body else { return }
        let bound = LoopBound(self, on: loop)
        let openGate = LoopBound(gate, on: loop)
        isUploading = true
        uploadFault = nil
        // A task of its own: the origin may answer before it has read the whole body.
        let task = Task(executorPreference: loop) {
            await openGate.value.wait(on: bound.loop)
            await bound.value.upload(source, length: length)
        }
        upload = Upload(source: source, task: task)
        do {
            try await withTaskCancellationHandler {
                try await readHead(
                    answering: question,
                    context: &context,
                    until: .max,
                    gate: gate
                )
            } onCancel: {
                task.cancel()
            }
            let isWanted = gate.isOpen && head?.status.kind == .successful
            gate.close()
            if !isWanted { await endUpload() }
        } catch {
            gate.close()
            await endUpload()
            throw uploadFault ?? error
        }
    }

    /// Calls off what is left of a body: the connection is spent then.
    func cancelUpload() {
        guard let upload else { return }
        if isUploading {
            isUploading = false
            mayReuse = false
            upload.source.cancel()
        }
        upload.task.cancel()
    }

    /// Calls off what is left of a body, and returns when nobody reads it any more.
    func endUpload() async {
        cancelUpload()
        let task = upload?.task
        upload = nil
        await task?.value
    }
}
