package import NetproxyBytes

extension StreamSocket {
    /// Whether something was posted that is not sent yet.
    package var hasPosted: Bool { unsafe posted != nil }
    /// Why a posted message was lost, if one was: nothing may follow it.
    package var lostPost: IOError? { unsafe postFault }

    /// Takes a whole message, and sends it when the present turn of the loop ends, or at once if
    /// nothing else is ready: then `lostPost` says whether it went.
    ///
    /// Many connections are served in one turn. That the kernel sends for all of them in a row keeps
    /// its code and ours in the processor's caches: a fifteenth of what a small request costs.
    ///
    /// The output goes back to the loop's pool. A fault ends the wait for reading: a reader meets it
    /// after the bytes that came before, and so does the next write.
    ///
    /// - Parameters:
    ///   - output: the head.
    ///   - content: what goes with it.
    ///   - deadline: when the kernel must have taken all of it, on the loop's clock; past it the fault
    ///     is `.timedOut`.
    /// - Returns: false if it is not taken: it is long, or the kernel is full. Its owner writes it.
    /// - Throws: `.aborted`, or the fault of an earlier message.
    package func post(
        _ output: OutputBuffer,
        _ content: ByteSlice?,
        until deadline: UInt64
    ) throws(IOError) -> Bool {
        try checkUsable()
        if let fault = unsafe postFault { throw fault }
        guard unsafe readiness.isWritable, !hasPosted,
            let message = PostedMessage(output, content, until: deadline)
        else { return false }
        unsafe posted = message
        loop.flushLater(self)
        return true
    }

    /// Waits until the kernel has what was posted.
    ///
    /// - Throws: `.timedOut`, `.closedByPeer`, `.aborted`, `.system`.
    package func finishPosted(until deadline: UInt64) async throws(IOError) {
        while hasPosted, try !sendPosted() { try await waitWritable(until: deadline) }
        if let fault = unsafe postFault { throw fault }
    }

    /// Forgets what was posted.
    package func dropPosted() {
        guard let message = unsafe posted.take() else { return }
        loop.outputs.give(message.output)
    }

    /// Sends what was posted, as far as the kernel takes it.
    func flushPosted() {
        do throws(IOError) {
            if try sendPosted() {
                if unsafe endsAfterPosted { shutdownWriting() }
            } else if let deadline = unsafe posted?.deadline {
                // Rare: the kernel is full of what was written before.
                unsafe writer.setDeadline(deadline)
                updateTimer()
            }
        } catch {
            failPosted(error)
        }
    }

    /// Loses the posted message: a reader, and the next write, meet the fault.
    func failPosted(_ fault: IOError) {
        dropPosted()
        unsafe postFault = fault
        unsafe readiness.becameReadable()
        resumeReader()
    }

    /// Sends what was posted; returns false if some of it waits for the kernel.
    func sendPosted() throws(IOError) -> Bool {
        guard var message = unsafe posted.take() else { return true }
        do throws(IOError) {
            try checkUsable()
            while !message.isSent {
                guard let count = try transmit(message.output, nil, from: message.offset) else {
                    unsafe posted = message
                    return false
                }
                message.sent(count)
            }
        } catch {
            loop.outputs.give(message.output)
            throw error
        }
        loop.outputs.give(message.output)
        return true
    }
}
