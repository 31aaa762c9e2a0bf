import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The response side: waits for the final head.
extension UpstreamConnection {
    /// Reads heads until the final one is in `head`, and passes interim ones on.
    func readHead(
        answering question: AwaitedResponse,
        context: inout RequestContext,
        until fixed: UInt64,
        during upload: Upload?
    ) async throws {
        var interim = InterimResponses(from: peer)
        while true {
            switch try next(answering: question, &context, from: upload == nil ? .socket : .buffer)
            {
            case .final: return
            case .interim:
                guard let head = head.take() else { continue }
                try await interim.pass(head, upload, &context)
            case .incomplete:
                if let upload {
                    try await readMore(during: upload, until: fixed)
                } else {
                    try await waitForHead(until: fixed)
                }
            }
        }
    }

    /// The part of the response that has arrived.
    private enum Arrival {
        case final
        case interim
        case incomplete
    }

    /// The bytes that a head is decoded from.
    private enum Source {
        /// Bytes already read; during an upload, another function reads.
        case buffer
        /// Bytes already read, and all bytes that can be read without waiting.
        case socket
    }

    /// Decodes a head.
    // Never inlined: its variables would otherwise enlarge the frame that is kept while a request waits.
    @inline(never)
    private func next(
        answering question: AwaitedResponse,
        _ context: inout RequestContext,
        from source: Source
    ) throws -> Arrival {
        repeat {
            guard !buffer.isEmpty, let head = try decodeHead(answering: question.method) else {
                continue
            }
            let isFinal = question.isFinal(head)
            hasAnswered = true
            if isFinal {
                if head.status == 407, let refusal = peer.refusal(head.headers) { throw refusal }
                context.upstreamStatus = head.status
                if head.version == .http10 { context.version = .http10 }
            }
            self.head = consume head
            return isFinal ? .final : .interim
        } while try source == .socket && readAtOnce()
        return .incomplete
    }

    private func waitForHead(until deadline: UInt64) async throws {
        while true {
            let step = isUnconfirmed ? min(deadline, confirmation) : deadline
            do throws(IOError) {
                return try await waitReadable(until: step, into: buffer)
            } catch {
                guard error == .timedOut, step < deadline else {
                    throw fault(error, in: .awaitingHead)
                }
                checkPeer()
            }
        }
    }

    /// The time at which to check a silent pooled connection.
    ///
    /// The request continues to wait, but other requests should not use similar connections.
    private var confirmation: UInt64 { loop.now &+ 2_000_000_000 }

    /// Checks, once per exchange, whether TCP has delivered the request.
    private func checkPeer() {
        guard isUnconfirmed else { return }
        isUnconfirmed = false
        if socket.isPeerSilent { owner.distrust(address) }
    }

    private func decodeHead(answering method: HTTPMethod) throws -> ResponseHead? {
        do throws(HTTP1Error) {
            return try reader.next(from: buffer, answering: method)
        } catch {
            throw FaultTable.error(error, from: peer.origin.authority)
        }
    }

    /// Reads the bytes that the kernel has; returns `false` if it has none.
    private func readAtOnce() throws -> Bool {
        do throws(IOError) {
            guard let count = try socket.readNow(into: buffer) else { return false }
            guard count > 0 else { throw .closedByPeer }
            return true
        } catch {
            throw fault(error, in: .awaitingHead)
        }
    }

    /// Reads the next part of the head during an upload.
    ///
    /// The wait is divided into steps of one second, since the deadline of the response starts when the
    /// upload ends, possibly in the middle of a step.
    private func readMore(during upload: Upload, until limit: UInt64) async throws {
        while true {
            let isStep = upload.isRunning
            let deadline =
                isStep
                ? min(loop.deadline(after: .seconds(1)), limit)
                : upload.answerDeadline(
                    min(loop.deadline(after: peer.options.responseTimeout), limit)
                )
            do throws(IOError) {
                guard try await read(until: deadline) == 0 else { return }
                throw .closedByPeer
            } catch {
                if error == .timedOut, isStep, loop.now < limit {
                    // An origin that does not respond to the expectation gets the body after a second.
                    upload.proceed()
                    checkPeer()
                    continue
                }
                throw fault(error, in: .awaitingHead)
            }
        }
    }

    /// Reads into the buffer; canceling the task ends the wait.
    func read(minimum: Int = 4096, until deadline: UInt64) async throws(IOError) -> Int {
        while true {
            if let count = try socket.readNow(into: buffer, minimum: minimum) { return count }
            try await waitReadable(until: deadline)
        }
    }

    /// Waits until the socket is readable; canceling the task ends the wait.
    private func waitReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async throws(IOError) {
        if peer.service == .connections, let relay = AbortRelay.current?.relay, relay.loop === loop
        {
            let relay = relay.value
            if relay.isFree {
                try relay.hold(socket)
                defer { relay.release() }
                return try await socket.waitReadable(until: deadline, into: buffer)
            }
        }
        try await abortable { [socket] in
            await IOError.thrown { () async throws(IOError) in
                try await socket.waitReadable(until: deadline, into: buffer)
            }
        }
    }

    /// Waits on the socket; canceling the task ends the wait.
    func abortable(_ wait: () async -> IOError?) async throws(IOError) {
        let (bound, exchange) = (LoopBound(self, on: loop), exchange)
        let failure = await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            // The connection may already serve another exchange.
            bound.loop.submit {
                if bound.value.exchange == exchange { bound.value.socket.abort() }
            }
        }
        if let failure { throw failure }
    }
}
