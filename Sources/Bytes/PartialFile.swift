import Glibc

/// A file that grows while it is fetched, and gets its name when it is complete; closed when it goes
/// away.
///
/// Not meant for two writers: the second one's bytes would stand between the first one's.
public final class PartialFile: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Opens or makes the file, readable for its owner only, and cuts it after `count` bytes.
    ///
    /// - Throws: `AppendFileError` of the call `resume` when the file is shorter than that.
    public init(path: String, keeping count: Int = 0) throws(AppendFileError) {
        self.path = path
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw AppendFileError(call: "open", code: errno) }
        guard try FileStatus(descriptor: descriptor).size >= count else {
            throw AppendFileError(call: "resume", code: ENODATA)
        }
        guard ftruncate(descriptor, count) == 0 else {
            throw AppendFileError(call: "truncate", code: errno)
        }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Writes all of the bytes at the end; blocks while the disk does.
    public func append(_ bytes: Span<UInt8>) throws(AppendFileError) {
        // SAFETY: the span is borrowed for the calls, which only read it.
        let code: Int32? = unsafe bytes.withUnsafeBytes { source in
            var rest = unsafe source[...]
            while unsafe !rest.isEmpty {
                let piece = unsafe UnsafeRawBufferPointer(rebasing: rest)
                let count = unsafe Glibc.write(descriptor, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                unsafe rest = rest.dropFirst(count)
            }
            return nil
        }
        if let code { throw AppendFileError(call: "write", code: code) }
    }

    /// Flushes the file and gives it its name, in place of a file that has it.
    public func finish(as name: String) throws(AppendFileError) {
        guard fsync(descriptor) == 0 else { throw AppendFileError(call: "flush", code: errno) }
        try AppendFile.rename(path, to: name)
    }
}
