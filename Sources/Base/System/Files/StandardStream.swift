import Glibc

/// A standard output stream that waits for its reader and survives the reader's end.
package struct StandardStream: Sendable {
    /// Standard output.
    package static let output = StandardStream(descriptor: STDOUT_FILENO)
    /// Standard error.
    package static let error = StandardStream(descriptor: STDERR_FILENO)

    private let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The same stream for callers that must not wait for its reader.
    ///
    /// A terminal that is ready for some bytes blocks on a longer write. `O_NONBLOCK` would affect every
    /// process that shares the terminal, so it is opened again and never closed.
    package var withoutWaiting: StandardStream {
        guard isatty(descriptor) == 1 else { return self }
        let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let own = unsafe open("/proc/self/fd/\(descriptor)", flags)
        return own < 0 ? self : StandardStream(descriptor: own)
    }

    /// The width of the terminal in characters; `nil` if the stream is not a terminal.
    package var columns: Int? {
        var size = winsize()
        // SAFETY: the structure is valid during the call.
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Writes a whole text.
    ///
    /// - Throws: `FileError` if the reader is gone or the disk is full.
    package func write(_ text: String) throws(FileError) {
        try write(Array(text.utf8))
    }

    /// Writes all bytes, with as many calls as necessary.
    ///
    /// - Throws: `FileError` if the reader is gone or the disk is full.
    package func write(_ bytes: [UInt8]) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: the slice is valid during the call and passed with its own length.
            let (count, code) = unsafe rest.withUnsafeBytes { source in
                let count = unsafe Glibc.write(descriptor, source.baseAddress, source.count)
                return (count, errno)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if code == EAGAIN {
                // Another process that shares the stream has made it nonblocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else if code != EINTR {
                throw FileError("write", code: code)
            }
        }
    }

    /// The number of bytes that a ready pipe accepts immediately (pipe(7): `PIPE_BUF`).
    private static let pieceSize = 4096

    /// Writes as many bytes as possible without waiting longer than `patience`, and returns their number.
    ///
    /// - Throws: `FileError`: `EAGAIN` if the reader accepts nothing; also if the reader is gone or the disk
    ///   is full.
    package func writePiece(
        _ bytes: Span<UInt8>,
        patience: Duration
    ) throws(FileError) -> Int {
        // A shared pipe may block, so it is polled first.
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&entry, 1, Int32(patience / .milliseconds(1))) > 0 else {
            throw FileError("write", code: EAGAIN)
        }
        return try writeOnce(
            bytes.extracting(0..<min(bytes.count, StandardStream.pieceSize)),
            to: descriptor
        )
    }

    /// Opens the standard streams that the process lacks, so that nothing can be written to them.
    ///
    /// Otherwise the next socket or file would get the number, and the messages. Call this before anything
    /// else is opened.
    package static func openMissing() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one. The stream is not writable, so output without a reader is
            // an error.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }
}
