import Glibc
package import NetproxyBytes
import NetproxySystem

extension StreamSocket {
    /// Reads the available bytes into the buffer, and waits only if there are none.
    ///
    /// - Parameters:
    ///   - buffer: the buffer for the bytes.
    ///   - minimum: the minimum free space of the buffer, in bytes.
    ///   - deadline: the deadline, on the loop's clock.
    /// - Returns: the number of bytes; 0 at the end of the stream.
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

    /// Reads the available bytes without waiting; returns `nil` if there are none.
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

    /// Returns `nil`, or throws the error of a lost posted message, which may get no response.
    private func nothingToRead() throws(IOError) -> Int? {
        if let fault = unsafe loss { throw fault }
        return nil
    }

    /// Reads into the waiting reader's buffer; returns whether to resume the reader.
    func fetchForReader() -> Bool {
        guard let buffer = unsafe fetch.buffer.take() else { return true }
        do throws(IOError) {
            guard let count = try readNow(into: buffer) else {
                unsafe fetch.buffer = buffer
                return false
            }
            // The reader finds the end again when it reads.
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

    /// Whether the socket is readable now, even if the loop has not processed the kernel's report yet.
    package func hasArrived() -> Bool {
        guard !isClosed, !isAborted else { return false }
        unsafe readiness.becameReadable()
        probe()
        return unsafe readiness.mayBeReadable
    }

    /// Reads once if the kernel's state is unknown, so that `isQuiet` is correct.
    package func probe() {
        // A lost message makes the socket count as readable, regardless of the kernel.
        guard unsafe readiness.mayBeReadable, unsafe loss == nil, !isClosed else { return }
        if let tls = unsafe tls {
            tls.probe(self)
        } else if descriptor.isDrained {
            unsafe readiness.drained()
        }
    }
}
