import Synchronization

/// Bytes in memory, 64 KiB at a time.
final class SlicedBody: BodySource {
    private let rest: Mutex<ByteSlice>

    init(_ bytes: ByteSlice) {
        rest = Mutex(bytes)
    }

    func next() async throws -> ByteSlice? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(FileContent.inlineLimit) }
            return rest.prefix(FileContent.inlineLimit)
        }
    }
}
