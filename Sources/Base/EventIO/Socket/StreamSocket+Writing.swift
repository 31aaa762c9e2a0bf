import Glibc
package import NetproxyBytes
import NetproxySystem

extension StreamSocket {
    /// Writes the output and then the body together, and waits while the kernel's buffer is full.
    ///
    /// - Parameters:
    ///   - output: the first bytes.
    ///   - body: the bytes after the output.
    ///   - idle: the longest time during which the kernel may accept no bytes; `nil` for no limit.
    ///   - limit: the deadline for all bytes, on the loop's clock.
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

    /// Writes as many bytes of the output and the body as the kernel accepts immediately.
    ///
    /// The body may be moved into the output; the caller writes the rest from both in their new state.
    ///
    /// - Returns: the number of written bytes; `nil` for all of them.
    /// - Throws: `.closedByPeer`, `.aborted`, `.system`.
    package func writeNow(
        _ output: OutputBuffer,
        _ body: inout ByteSlice?
    ) throws(IOError) -> Int? {
        if unsafe tls != nil, let small = body, small.count + output.count <= Slab.standardCapacity
        {
            // Send one TLS record instead of two.
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
                // Earlier bytes have been accepted; writing the rest throws the same error.
                guard written > 0 else { throw error }
                return written
            }
        }
        return nil
    }

    /// Writes the bytes after the first `offset`, and waits while the kernel's buffer is full.
    ///
    /// `lastReceived` returns the time of the last byte in the other direction, from which `idle` counts as
    /// well.
    ///
    /// - Throws: the errors of `write(_:_:idle:until:)`.
    package func write(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int,
        idle: Duration?,
        until limit: UInt64 = .max,
        since lastReceived: (() -> UInt64)? = nil
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
                do throws(IOError) {
                    try await waitWritable(until: end)
                } catch {
                    guard error == .timedOut, let idle, let lastReceived else { throw error }
                    let later = min(lastReceived() &+ idle.nanoseconds, limit)
                    guard loop.now < later else { throw error }
                    deadline = later
                }
            }
        }
    }

    /// Writes some of the bytes after the first `offset`; returns `nil` if the kernel's buffer is full.
    private func writeSome(
        _ output: OutputBuffer,
        _ body: ByteSlice?,
        from offset: Int
    ) throws(IOError) -> Int? {
        try checkUsable()
        if hasPosted, try !sendPosted() { return nil }
        // No bytes may follow a lost message.
        if let fault = unsafe loss { throw fault }
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

    /// Sends the end of the stream after all written bytes; reading remains possible.
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
