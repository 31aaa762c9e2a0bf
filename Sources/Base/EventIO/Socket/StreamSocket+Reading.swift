import Glibc
package import NetproxyBytes
import NetproxySystem

/// What the loop read for a task that waits to read.
struct Fetch {
    /// Where it may put the bytes; `nil` while no task waits, or it has none to lend.
    var buffer: ReadBuffer?
    /// Whether it has read into the buffer.
    var isDone = false
    var fault: IOError?
}

extension StreamSocket {
    /// Reads what is there into the buffer, and waits only if nothing is.
    ///
    /// - Parameters:
    ///   - buffer: where the bytes go.
    ///   - minimum: how much free space it offers at least, in bytes.
    ///   - deadline: on the loop's clock.
    /// - Returns: how many bytes came; 0 at the end of the stream.
    /// - Throws: `.timedOut`, `.closedByPeer` on a reset, `.unresponsive`, `.aborted`, `.system`.
    package func read(
        into buffer: ReadBuffer,
        minimum: Int = 4096,
        until deadline: UInt64
    ) async throws(IOError) -> Int {
        while true {
            if let count = try readNow(into: buffer, minimum: minimum) { return count }
            try await waitReadable(until: deadline)
        }
    }

    /// Reads what is there without waiting; returns `nil` if nothing is there.
    package func readNow(
        into buffer: ReadBuffer,
        minimum: Int = 4096
    ) throws(IOError) -> Int? {
        try checkUsable()
        if let fault = unsafe fetch.fault { throw fault }
        guard unsafe readiness.mayBeReadable else { return try nothingToRead() }
        buffer.reserve(minimum, from: loop.slabs)
        if let tls = unsafe tls {
            if let count = try tls.read(into: buffer, from: self) { return count }
            return try nothingToRead()
        }
        var failure: Int32 = 0
        let count = unsafe buffer.withFreeSpace { free in
            switch unsafe receive(free.baseAddress, free.count) {
            case .count(let count): return count
            case .wouldBlock: failure = EAGAIN
            case .failure(let code): failure = code
            }
            return 0
        }
        if failure == EAGAIN { return try nothingToRead() }
        if failure != 0 { throw IOError(ofConnection: failure) }
        return count
    }

    /// Receives bytes, and notes what that says of the kernel's buffer.
    @inline(__always)
    func receive(_ bytes: UnsafeMutableRawPointer?, _ room: Int) -> SocketDescriptor.Transfer {
        let transfer = unsafe descriptor.receive(bytes, room)
        switch transfer {
        case .count(0): unsafe readiness.readEnd()
        case .failure(let code):
            unsafe lastFailure = code
            unsafe readiness.readEnd()
        case .count(let count):
            if unsafe readiness.didRead(count, of: room) { checkForResetLater() }
        case .wouldBlock: unsafe readiness.drained()
        }
        return transfer
    }

    /// Returns `nil`, or throws why a posted message was lost: there may be no response to it.
    private func nothingToRead() throws(IOError) -> Int? {
        if let fault = unsafe postFault { throw fault }
        return nil
    }

    /// Returns when there may be something to read.
    ///
    /// - Parameters:
    ///   - deadline: on the loop's clock.
    ///   - buffer: where the loop may put what comes first, before it runs any task: it reads for all
    ///     connections in a row. Look into it first.
    /// - Throws: `.timedOut`, `.aborted`.
    package func waitReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async throws(IOError) {
        unsafe fetch.isDone = false
        while unsafe !readiness.mayBeReadable, unsafe !fetch.isDone {
            try checkUsable()
            unsafe reader.begin(until: deadline)
            updateTimer()
            unsafe fetch.buffer = buffer
            await unsafe suspend { unsafe reader.suspended($0) }
            unsafe fetch.buffer = nil
            unsafe reader.clearDeadline()
            switch unsafe reader.end {
            case .event: break
            // What has come in the meantime counts.
            case .timeout:
                if unsafe !readiness.mayBeReadable, unsafe !fetch.isDone { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        try checkUsable()
    }

    /// Reads into the waiting reader's buffer; returns whether the reader should go on.
    func fetchForReader() -> Bool {
        guard let buffer = unsafe fetch.buffer.take() else { return true }
        do throws(IOError) {
            guard let count = try readNow(into: buffer) else {
                unsafe fetch.buffer = buffer
                return false
            }
            // The reader meets the end again when it reads.
            if count == 0 {
                unsafe readiness.becameReadable()
            } else {
                unsafe fetch.isDone = true
            }
        } catch {
            unsafe fetch.fault = error
            unsafe readiness.becameReadable()
        }
        return true
    }

    /// Calls `wake` once when there may be something to read or the deadline has passed: a wait that
    /// costs no task.
    package func park(until deadline: UInt64, wake: @escaping () -> Void) {
        unsafe parked = wake
        unsafe reader.setDeadline(deadline)
        updateTimer()
    }

    /// Ends the present wait for reading, if there is one, with `.aborted`; the socket stays usable.
    package func cancelRead() {
        if unsafe parked != nil { return resumeReader() }
        guard unsafe reader.isUnderWay else { return }
        unsafe reader.finish(.cancellation)
        resumeReader()
    }

    /// Whether the connection has nothing to report: no bytes, no end, no fault.
    ///
    /// A pooled connection must be quiet before it is used again.
    package var isQuiet: Bool {
        unsafe !readiness.mayBeReadable && !isPeerClosed && !isAborted && !isClosed
            && postFault == nil
    }

    /// Whether something can be read now, even if the loop has not taken the kernel's report of it yet.
    package func hasArrived() -> Bool {
        guard !isClosed, unsafe !hasAborted else { return false }
        unsafe readiness.becameReadable()
        probe()
        return unsafe readiness.mayBeReadable
    }

    /// Reads once where the kernel's state is not known, so that `isQuiet` is right.
    package func probe() {
        // A lost message makes the socket count as readable, whatever the kernel says.
        guard unsafe readiness.mayBeReadable, unsafe postFault == nil, !isClosed else { return }
        if let tls = unsafe tls {
            tls.probe(self)
        } else if descriptor.isDrained {
            unsafe readiness.drained()
        }
    }
}
