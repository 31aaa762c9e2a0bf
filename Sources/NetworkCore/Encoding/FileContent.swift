import Bytes
import Synchronization

/// The content of a file as a body: short files are read at once, so that they can be sent again,
/// longer ones piece by piece while they are sent.
enum FileContent {
    /// Up to this length a file is read at once, in bytes: what the replay after a 401 keeps anyway.
    static let inlineLimit = 64 * 1024

    /// Opens a file.
    ///
    /// - Throws: `http_request_error` when it cannot be read.
    static func body(path: String) throws(NetworkError) -> HTTPBody {
        let (file, length) = try open(path)
        guard length > inlineLimit else { return .bytes(try read(file, length, 0, path)) }
        return .stream(FileBody(file, length: length, path: path), length: length)
    }

    static func open(_ path: String) throws(NetworkError) -> (ReadableFile, length: Int) {
        let (file, status): (ReadableFile, FileStatus)
        do throws(AppendFileError) {
            file = try ReadableFile(path: path)
            status = try file.status
        } catch {
            throw unreadable(path, error)
        }
        // Pipes and devices have no length: sent by it, they would be empty.
        guard status.isRegular else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                retry: .safe,
                detail: "\(path) is no regular file"
            )
        }
        return (file, status.size)
    }

    static func read(
        _ file: ReadableFile,
        _ count: Int,
        _ offset: Int,
        _ path: String
    ) throws(NetworkError) -> ByteSlice {
        let bytes: [UInt8]
        do throws(AppendFileError) {
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

    private static func unreadable(_ path: String, _ error: AppendFileError) -> NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            retry: .safe,
            detail: "the file \(path) cannot be read: \(error)"
        )
    }
}

/// A file that is read while it is sent, 64 KiB at a time, on whatever executor pulls it.
final class FileBody: BodySource {
    private static let pieceSize = 64 * 1024
    private let file: ReadableFile
    private let length: Int
    private let path: String
    private let offset = Mutex(0)

    init(_ file: ReadableFile, length: Int, path: String) {
        self.file = file
        self.length = length
        self.path = path
    }

    /// All of it at once, for a short one.
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
        return try FileContent.read(file, count, start, path)
    }
}
