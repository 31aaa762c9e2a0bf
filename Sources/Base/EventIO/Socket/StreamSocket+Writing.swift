import Glibc
package import NetproxyBytes
import NetproxySystem

extension StreamSocket {
    /// Writes the output and then the body, gathered, and waits while the kernel is full.
    ///
    /// - Parameters:
    ///   - output: what is written first.
    ///   - body: what is written after it.
    ///   - idle: how long the kernel may take nothing; `nil` for as long as it likes.
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
    /// The body may be moved into the output: write the rest from both as they are then.
    ///
    /// - Returns: how many bytes were written; `nil` if that was all.
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
                // The bytes before it are on their way; writing the rest meets the same fault.
                guard written > 0 else { throw error }
                return written
            }
        }
        return nil
    }

    /// Writes the bytes after the first `offset`, and waits while the kernel is full.
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

    /// Writes some of the bytes after the first `offset`; returns `nil` if the kernel is full.
    private func writeSome(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        try checkUsable()
        if hasPosted, try !sendPosted() { return nil }
        // Nothing may follow a message that was lost.
        if let fault = unsafe postFault { throw fault }
        return try transmit(output, body, from: offset)
    }

    func transmit(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        guard unsafe readiness.isWritable else { return nil }
        if let tls = unsafe tls { return try tls.write(output, body, from: offset, to: self) }
        switch recordSend(descriptor.send(output, body, from: offset)) {
        case .count(let count): return count
        case .wouldBlock: return nil
        case .failure(let code): throw IOError(ofConnection: code)
        }
    }

    /// Notes what a send says of the kernel's buffer.
    @inline(__always)
    func recordSend(_ transfer: SocketDescriptor.Transfer) -> SocketDescriptor.Transfer {
        switch transfer {
        case .count:
            if let watch = unsafe peerWatch, watch.isResting { watch.start() }
        case .wouldBlock: unsafe readiness.filled()
        case .failure(let code):
            unsafe lastFailure = code
            // The kernel reports a reset once, and has now reported it to a send: readers must find
            // out by reading, since no other event follows.
            unsafe readiness.becameReadable()
            resumeReader()
        }
        return transfer
    }

    /// Returns when there may be room in the kernel.
    ///
    /// - Throws: `.timedOut`, `.aborted`.
    func waitWritable(until deadline: UInt64) async throws(IOError) {
        while unsafe !readiness.isWritable {
            try checkUsable()
            unsafe writer.begin(until: deadline)
            updateTimer()
            await unsafe suspend { unsafe writer.suspended($0) }
            unsafe writer.clearDeadline()
            switch unsafe writer.end {
            case .event: if let fault = unsafe postFault { throw fault }
            // Room that has come in the meantime counts.
            case .timeout: if unsafe !readiness.isWritable { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        try checkUsable()
    }

    /// Ends the present wait for writing, if there is one, with `.aborted`.
    ///
    /// The socket stays usable for reading; a message that was being written is cut.
    package func cancelWrite() {
        guard unsafe writer.isUnderWay else { return }
        unsafe writer.finish(.cancellation)
        resumeWriter()
    }

    /// Sends the end of the stream after everything written; reading goes on.
    package func shutdownWriting() {
        guard !isClosed else { return }
        if hasPosted { flushPosted() }
        if hasPosted {
            unsafe endsAfterPosted = true
            return
        }
        unsafe tls?.shutdown()
        descriptor.shutdownWriting()
    }
}
