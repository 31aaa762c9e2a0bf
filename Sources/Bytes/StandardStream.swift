import Glibc

/// What a process was started with to write to: waits for its reader, and survives its end.
package struct StandardStream: Sendable {
    /// Standard output.
    package static let output = StandardStream(descriptor: STDOUT_FILENO)
    /// Standard error.
    package static let error = StandardStream(descriptor: STDERR_FILENO)

    private let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Writes a whole text.
    ///
    /// - Throws: `AppendFileError`: the reader has gone, the disk is full.
    package func write(_ text: String) throws(AppendFileError) {
        try write(Array(text.utf8))
    }

    /// Writes all bytes, however many calls it takes.
    ///
    /// - Throws: `AppendFileError`: the reader has gone, the disk is full.
    package func write(_ bytes: [UInt8]) throws(AppendFileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: the slice is lent for the call with its own length.
            let (count, code) = unsafe rest.withUnsafeBytes { source in
                let count = unsafe Glibc.write(descriptor, source.baseAddress, source.count)
                return (count, errno)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if code == EAGAIN {
                // Somebody who shares the stream made it one that does not wait.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else if code != EINTR {
                throw AppendFileError(call: "write", code: code)
            }
        }
    }
}
