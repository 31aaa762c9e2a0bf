package import Bytes
import CLibevent
import Glibc
import System

extension StreamSocket {
    /// Writes the output and then the body, gathered, and waits while the kernel is full.
    ///
    /// - Parameters:
    ///   - output: what is written first.
    ///   - body: what is written behind it.
    ///   - idle: how long nothing may move; nothing for as long as it takes.
    ///   - limit: when all of it must be written, on the loop's clock.
    /// - Throws: `.timedOut`, `.closedByPeer`, `.aborted`, `.system`.
    package func write(
        _ output: OutputBuffer,
        _ body: ByteSlice? = nil,
        idle: Duration? = nil,
        until limit: UInt64 = .max
    ) async throws(IOError) {
        var body = body
        if let written = try writeNow(output, &body) {
            try await write(output, body, from: written, idle: idle, until: limit)
        }
    }

    /// Writes as much of the output and the body as the kernel takes at once.
    ///
    /// The body may be moved behind the output: whoever goes on goes on with both as they are then.
    ///
    /// - Returns: how many bytes were written; nothing if that was all.
    /// - Throws: `.closedByPeer`, `.aborted`, `.system`.
    package func writeNow(
        _ output: OutputBuffer,
        _ body: inout ByteSlice?
    ) throws(IOError) -> Int? {
        if unsafe tls != nil, let small = body, small.count + output.count <= Slab.standardCapacity
        {
            // One record instead of two.
            output.append(small.span)
            body = nil
        }
        var written = 0
        let total = output.count + (body?.count ?? 0)
        while written < total {
            do throws(IOError) {
                guard let count = try writeSome(output, body, from: written) else { return written }
                written += count
            } catch {
                // What went before is on its way; whoever writes the rest meets the same fault.
                guard written > 0 else { throw error }
                return written
            }
        }
        return nil
    }

    /// Writes the bytes behind the first `offset`, and waits while the kernel is full.
    ///
    /// - Throws: what `write(_:_:idle:until:)` throws.
    package func write(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int,
        idle: Duration?,
        until limit: UInt64 = .max
    ) async throws(IOError) {
        var written = offset
        var deadline: UInt64?
        let total = output.count + (body?.count ?? 0)
        while written < total {
            if let count = try writeSome(output, body, from: written) {
                written += count
                deadline = nil
            } else {
                let end = deadline ?? min(loop.deadline(after: idle), limit)
                deadline = end
                try await waitWritable(until: end)
            }
        }
    }

    /// As `write(_:_:from:idle:until:)`, with the failure as a value: for callers that write inside a
    /// closure.
    package func settleWritten(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int,
        idle: Duration?,
        until limit: UInt64 = .max
    ) async -> IOError? {
        do throws(IOError) {
            try await write(output, body, from: offset, idle: idle, until: limit)
            return nil
        } catch {
            return error
        }
    }

    /// Writes some of the bytes behind the first `offset`; nothing if the kernel is full.
    private func writeSome(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        if unsafe isAborted || isClosed { throw .aborted }
        if hasPosted, try !sendPosted() { return nil }
        // Nothing may follow a message that was lost.
        if let fault = unsafe postFault { throw fault }
        return try transmit(output, body, from: offset)
    }

    private func transmit(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        guard unsafe isWritable else { return nil }
        if let tls = unsafe tls { return try tls.write(output, body, from: offset, to: self) }
        let headLeft = max(output.count - offset, 0)
        let bodyOffset = max(offset - output.count, 0)
        let bodyLeft = (body?.count ?? 0) - bodyOffset
        var count: Int
        var failure: Int32
        repeat {
            // SAFETY: output and body are kept alive by the caller for the duration of the call.
            if headLeft > 0, bodyLeft > 0, let body {
                var pieces = unsafe (
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: output.unsafeAddress + offset),
                        iov_len: headLeft
                    ),
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: body.unsafeAddress),
                        iov_len: bodyLeft
                    )
                )
                count = unsafe withUnsafePointer(to: &pieces) { pointer in
                    unsafe pointer.withMemoryRebound(to: iovec.self, capacity: 2) {
                        unsafe writev(descriptor, $0, 2)
                    }
                }
            } else if headLeft > 0 {
                count = unsafe send(
                    descriptor,
                    output.unsafeAddress + offset,
                    headLeft,
                    Int32(MSG_NOSIGNAL)
                )
            } else if let body {
                count = unsafe send(
                    descriptor,
                    body.unsafeAddress + bodyOffset,
                    bodyLeft,
                    Int32(MSG_NOSIGNAL)
                )
            } else {
                return 0
            }
            failure = count < 0 ? systemError() : 0
        } while failure == EINTR
        if failure == EAGAIN {
            unsafe isWritable = false
            return nil
        }
        if failure != 0 {
            noteLostSend()
            throw writeFailure(failure)
        }
        return count
    }

    /// The kernel tells of a reset once, and may have told it to a send: whoever reads looks for
    /// himself, since no other edge follows.
    func noteLostSend() {
        unsafe mayBeReadable = true
        resumeReader()
    }

    func waitWritable(until deadline: UInt64) async throws(IOError) {
        while unsafe !isWritable {
            if unsafe isAborted || isClosed { throw .aborted }
            precondition(unsafe writeWaiter == nil, "two tasks write to one socket")
            unsafe writeEnd = .event
            unsafe writeDeadline = deadline
            updateTimer()
            await unsafe suspend { unsafe writeWaiter = $0 }
            unsafe writeDeadline = .max
            switch unsafe writeEnd {
            case .event: break
            // Room that has come in the meantime counts.
            case .timeout: if unsafe !isWritable { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        if unsafe isAborted || isClosed { throw .aborted }
    }

    /// As `waitWritable`, with the failure as a value: for callers that wait inside a closure.
    func settleWritable(until deadline: UInt64) async -> IOError? {
        do throws(IOError) {
            try await waitWritable(until: deadline)
            return nil
        } catch {
            return error
        }
    }

    /// Ends the present wait for writing, if there is one, with `.aborted`.
    ///
    /// The socket stays usable for reading; a message that was being written is cut.
    package func cancelWrite() {
        guard unsafe writeWaiter != nil else { return }
        unsafe writeEnd = .cancellation
        resumeWriter()
    }

    /// Sends the end of the stream behind everything written, and goes on reading.
    package func shutdownWriting() {
        guard !isClosed else { return }
        if hasPosted { flush() }
        if hasPosted {
            unsafe endsBehindPost = true
            return
        }
        unsafe tls?.shutdown()
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: - Posting

    /// The longest content that is posted, in bytes: it is copied.
    private static let postedContent = 2048
    /// The longest head that is posted, in bytes: the kernel takes as much at once.
    private static let postedHead = 8192

    /// Whether something was posted that is not sent yet.
    package var hasPosted: Bool { unsafe posted != nil }
    /// Why a message that was posted is lost, if one is: nothing may follow it.
    package var lostPost: IOError? { unsafe postFault }

    /// Takes a whole message, and sends it when the present turn of the loop ends, or at once if
    /// nothing else is ready: then `lostPost` tells whether it went.
    ///
    /// Many connections are served in one turn. That the kernel sends for all of them in a row keeps
    /// its code and ours in the processor's caches: a fifteenth of what a small request costs.
    ///
    /// The output goes back to the loop's pool. A fault ends the wait for reading: whoever reads
    /// learns of it behind the bytes that came before, and so does whoever writes next.
    ///
    /// - Parameters:
    ///   - output: the head.
    ///   - content: what goes with it.
    ///   - deadline: when the kernel must have taken all of it, on the loop's clock; past it the fault
    ///     is `.timedOut`.
    /// - Returns: false if it is not taken: it is long, or the kernel is full. Its owner writes it.
    /// - Throws: `.aborted`, or the fault of a message before.
    package func post(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        until deadline: UInt64
    ) throws(IOError) -> Bool {
        if unsafe isAborted || isClosed { throw .aborted }
        if let fault = unsafe postFault { throw fault }
        guard unsafe isWritable, !hasPosted, output.count <= StreamSocket.postedHead else {
            return false
        }
        if let content {
            guard content.count <= StreamSocket.postedContent else { return false }
            output.append(content.span)
        }
        unsafe posted = output
        unsafe postedOffset = 0
        unsafe postDeadline = deadline
        loop.flushLater(self)
        return true
    }

    /// Waits until the kernel has what was posted.
    ///
    /// - Throws: `.timedOut`, `.closedByPeer`, `.aborted`, `.system`.
    package func settlePosted(until deadline: UInt64) async throws(IOError) {
        while hasPosted, try !sendPosted() { try await waitWritable(until: deadline) }
        if let fault = unsafe postFault { throw fault }
    }

    /// Forgets what was posted.
    package func dropPosted() {
        guard let output = unsafe posted.take() else { return }
        loop.outputs.give(output)
    }

    /// Sends what was posted, as far as the kernel takes it.
    func flush() {
        do throws(IOError) {
            if try sendPosted() {
                if unsafe endsBehindPost { shutdownWriting() }
                return
            }
            // Rare: the kernel is full of what was written before.
            unsafe writeDeadline = postDeadline
            updateTimer()
        } catch {
            failPosted(error)
        }
    }

    /// Tells whoever reads, and whoever writes next, that a message is lost.
    func failPosted(_ fault: IOError) {
        dropPosted()
        unsafe postFault = fault
        unsafe mayBeReadable = true
        resumeReader()
    }

    /// Sends what was posted; false if some of it waits for the kernel.
    private func sendPosted() throws(IOError) -> Bool {
        guard let output = unsafe posted.take() else { return true }
        do throws(IOError) {
            if unsafe isAborted || isClosed { throw .aborted }
            while unsafe postedOffset < output.count {
                guard unsafe isWritable,
                    let count = unsafe try transmit(output, nil, from: postedOffset)
                else {
                    unsafe posted = output
                    return false
                }
                unsafe postedOffset += count
            }
        } catch {
            loop.outputs.give(output)
            throw error
        }
        loop.outputs.give(output)
        return true
    }

    private func writeFailure(_ code: Int32) -> IOError {
        switch code {
        case ECONNRESET, EPIPE: .closedByPeer
        default: .system(describe(errno: code))
        }
    }
}
