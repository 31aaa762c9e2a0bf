package import Bytes
import CLibevent
import Glibc
import System

extension StreamSocket {
    /// Reads what is there into the buffer, and waits only if nothing is.
    ///
    /// - Parameters:
    ///   - buffer: where the bytes go.
    ///   - minimum: how much free space it offers at least, in bytes.
    ///   - deadline: on the loop's clock.
    /// - Returns: how many bytes came; 0 at the end of the stream.
    /// - Throws: `.timedOut`, `.closedByPeer` on a reset, `.aborted`, `.system`.
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

    /// Reads what is there without waiting; nothing if there is nothing.
    package func readNow(
        into buffer: ReadBuffer,
        minimum: Int = 4096
    ) throws(IOError) -> Int? {
        if unsafe isAborted || isClosed { throw .aborted }
        if let fault = unsafe fetchFault { throw fault }
        guard unsafe mayBeReadable else { return try nothingToRead() }
        buffer.reserve(minimum, from: loop.slabs)
        if let tls = unsafe tls {
            if let count = try tls.read(into: buffer, from: self) { return count }
            return try nothingToRead()
        }
        var failure: Int32 = 0
        var isDrained = false
        let count = unsafe buffer.withFreeSpace { free in
            var count: Int
            repeat {
                count = unsafe recv(descriptor, free.baseAddress, free.count, 0)
                failure = count < 0 ? systemError() : 0
            } while failure == EINTR
            isDrained = count < free.count
            return max(count, 0)
        }
        if failure == EAGAIN {
            unsafe mayBeReadable = false
            return try nothingToRead()
        }
        if failure != 0 { throw readFailure(failure) }
        if count == 0 {
            unsafe hasPeerClosed = true
            return 0
        }
        // A short read means drained, unless the end of the stream shares the edge.
        if isDrained, !isPeerClosed { assumeDrained() }
        return count
    }

    /// Nothing, or what became of a message that was posted: there may be no answer to it.
    private func nothingToRead() throws(IOError) -> Int? {
        if let fault = unsafe postFault { throw fault }
        return nil
    }

    /// Returns when there may be something to read.
    ///
    /// - Parameters:
    ///   - deadline: on the loop's clock.
    ///   - buffer: where the loop may put what comes first, before it runs anybody: it reads for all
    ///     connections in a row. Look into it first.
    /// - Throws: `.timedOut`, `.aborted`.
    package func waitReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async throws(IOError) {
        unsafe hasFetched = false
        while unsafe !mayBeReadable, unsafe !hasFetched {
            if unsafe isAborted || isClosed { throw .aborted }
            precondition(unsafe readWaiter == nil, "two tasks read from one socket")
            unsafe readEnd = .event
            unsafe readDeadline = deadline
            updateTimer()
            unsafe fetchBuffer = buffer
            await unsafe suspend { unsafe readWaiter = $0 }
            unsafe fetchBuffer = nil
            unsafe readDeadline = .max
            switch unsafe readEnd {
            case .event: break
            // What has come in the meantime counts.
            case .timeout: if unsafe !mayBeReadable, unsafe !hasFetched { throw .timedOut }
            case .cancellation: throw .aborted
            }
        }
        if unsafe isAborted || isClosed { throw .aborted }
    }

    /// Reads into the waiting reader's buffer; false if nothing is there yet.
    func fetch() -> Bool {
        guard let buffer = unsafe fetchBuffer.take() else { return true }
        do throws(IOError) {
            guard let count = try readNow(into: buffer) else {
                unsafe fetchBuffer = buffer
                return false
            }
            // The end is read again, by whom it concerns.
            if count == 0 { unsafe mayBeReadable = true } else { unsafe hasFetched = true }
        } catch {
            unsafe fetchFault = error
            unsafe mayBeReadable = true
        }
        return true
    }

    /// As `waitReadable`, with the failure as a value: for callers that wait inside a closure.
    package func settleReadable(
        until deadline: UInt64,
        into buffer: ReadBuffer? = nil
    ) async -> IOError? {
        do throws(IOError) {
            try await waitReadable(until: deadline, into: buffer)
            return nil
        } catch {
            return error
        }
    }

    /// Calls `wake` once when there may be something to read or the deadline has passed: a wait that
    /// costs no task.
    package func park(until deadline: UInt64, wake: @escaping () -> Void) {
        unsafe parked = wake
        unsafe readDeadline = deadline
        updateTimer()
    }

    /// Ends the present wait for reading, if there is one, with `.aborted`; the socket stays usable.
    package func cancelRead() {
        if unsafe parked != nil { return resumeReader() }
        guard unsafe readWaiter != nil else { return }
        unsafe readEnd = .cancellation
        resumeReader()
    }

    /// Whether the connection has nothing to say: no bytes, no end, no fault.
    ///
    /// What a pooled connection must be before it is used again.
    package var isQuiet: Bool {
        unsafe !mayBeReadable && !isPeerClosed && !isAborted && !isClosed && postFault == nil
    }

    /// Reads once where the kernel's state is not known, so that `isQuiet` tells the truth.
    package func probe() {
        // A lost message makes it count as readable, whatever the kernel says.
        guard unsafe mayBeReadable, unsafe postFault == nil, !isClosed else { return }
        if let tls = unsafe tls { return tls.probe(self) }
        var byte: UInt8 = 0
        // SAFETY: one byte on the stack, and MSG_PEEK leaves the stream as it is.
        let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK))
        if count < 0, systemError() == EAGAIN { unsafe mayBeReadable = false }
    }

    private func readFailure(_ code: Int32) -> IOError {
        unsafe hasPeerClosed = true
        switch code {
        case ECONNRESET, EPIPE: return .closedByPeer
        case ETIMEDOUT: return .timedOut
        default: return .system(describe(errno: code))
        }
    }
}
