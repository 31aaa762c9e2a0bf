import Glibc

/// A file that can be read at any offset while others append to it, closed when it is released.
package final class ReadableFile: Sendable {
    private let descriptor: Int32

    /// Opens a file for reading.
    package init(path: String) throws(FileError) {
        descriptor = openFile(path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileError("open") }
    }

    deinit {
        _ = close(descriptor)
    }

    /// The file's identity and length.
    package var status: FileStatus {
        get throws(FileError) { try FileStatus(descriptor: descriptor) }
    }

    /// Reads `count` bytes from `offset`, or fewer at the end of the file.
    package func read(_ count: Int, at offset: Int) throws(FileError) -> [UInt8] {
        // For an array of capacity 0, the standard library would write to its shared empty array.
        guard count > 0 else { return [] }
        var code: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { free, filled in
            while filled < count {
                // SAFETY: the rest of `free` has room for `count - filled` bytes.
                let rest = unsafe UnsafeMutableBufferPointer(rebasing: free[filled..<count])
                let read = unsafe pread(descriptor, rest.baseAddress, rest.count, offset + filled)
                if read < 0, errno == EINTR { continue }
                if read < 0 { code = errno }
                guard read > 0 else { return }
                filled += read
            }
        }
        guard code == 0 else { throw FileError("read", code: code) }
        return bytes
    }
}
