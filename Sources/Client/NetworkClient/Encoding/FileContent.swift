import NetproxyBytes
import NetproxySystem
import Synchronization

/// Opens files as request bodies.
///
/// Short files are read into memory. Longer ones are read in pieces while they are sent, and again for
/// another
/// attempt.
enum FileContent {
    /// The size up to which a file is read into memory, in bytes; the replay after a 401 keeps this much
    /// anyway.
    static let inlineLimit = 64 * 1024

    /// Opens a file.
    ///
    /// - Throws: `http_request_error` if it cannot be read.
    static func body(path: String) throws(NetworkError) -> HTTPBody {
        let file = try open(path)
        return file.length > inlineLimit
            ? .stream(file, length: file.length) : .bytes(try file.whole())
    }

    static func open(_ path: String) throws(NetworkError) -> FileBody {
        let (file, status): (ReadableFile, FileStatus)
        do throws(FileError) {
            file = try ReadableFile(path: path)
            status = try file.status
        } catch {
            throw unreadable(path, error)
        }
        // Pipes and devices report length 0, so they would be sent as empty.
        guard status.isRegular else {
            throw NetworkError.unsendable("\(path) is no regular file")
        }
        return FileBody(file, status, path: path)
    }

    static func read(
        _ file: ReadableFile,
        _ count: Int,
        _ offset: Int,
        _ path: String
    ) throws(NetworkError) -> ByteSlice {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try file.read(count, at: offset)
        } catch {
            throw unreadable(path, error)
        }
        guard bytes.count == count else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "the file \(path) became shorter while it was sent"
            )
        }
        return ByteSlice(bytes)
    }

    static func unreadable(_ path: String, _ error: FileError) -> NetworkError {
        .unsendable("the file \(path) cannot be read: \(error)")
    }
}

/// A file that is read while it is sent, in pieces of 64 KiB, off the loop that sends it.
///
/// A second pass throws if the file has changed since it was opened. The descriptor refers to the same file,
/// even
/// if another file has its name by then.
final class FileBody: RepeatableBodySource {
    private enum Pass {
        case first, repeated
    }

    private static let pieceSize = 64 * 1024
    private let file: ReadableFile
    private let opened: FileStatus
    private let path: String
    private let pass: Pass
    private let offset = Mutex(0)

    convenience init(_ file: ReadableFile, _ opened: FileStatus, path: String) {
        self.init(file, opened, path: path, .first)
    }

    private init(_ file: ReadableFile, _ opened: FileStatus, path: String, _ pass: Pass) {
        self.file = file
        self.opened = opened
        self.path = path
        self.pass = pass
    }

    /// The length of the file when it was opened, which is the number of bytes to send.
    var length: Int { opened.size }

    /// Reads a short file into memory.
    func whole() throws(NetworkError) -> ByteSlice {
        try FileContent.read(file, length, 0, path)
    }

    func next() async throws -> ByteSlice? {
        let (start, count) = offset.withLock { offset in
            let count = min(length - offset, FileBody.pieceSize)
            defer { offset += count }
            return (offset, count)
        }
        guard count > 0 else { return nil }
        return try await OffLoop.run { [self] in
            let piece = try FileContent.read(file, count, start, path)
            // Check after the read, when any earlier change is visible.
            if pass == .repeated { try checkUnchanged() }
            return piece
        }
    }

    func fromStart() -> any RepeatableBodySource { repeated() }

    /// Returns the file from its start, for another attempt.
    func repeated() -> FileBody { FileBody(file, opened, path: path, .repeated) }

    private func checkUnchanged() throws(NetworkError) {
        let now: FileStatus
        do throws(FileError) {
            now = try file.status
        } catch {
            throw FileContent.unreadable(path, error)
        }
        guard now.isUnchanged(since: opened) else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "the file \(path) has changed since the attempt before"
            )
        }
    }
}
