import FoundationEssentials
import Synchronization

/// Bytes of the program as content, in pieces of 64 KiB, without a second copy of the whole.
final class DataBody: RepeatableBodySource {
    /// The size below which the bytes are copied together, which costs less than pieces.
    static let shortest = 256 * 1024

    private let data: Data
    private let offset = Mutex(0)

    init(_ data: Data) {
        self.data = data
    }

    /// Returns the body for some bytes.
    static func body(_ data: Data) -> HTTPBody {
        data.count < shortest
            ? .bytes(ByteSlice(data.span)) : .stream(DataBody(data), length: data.count)
    }

    func fromStart() -> any RepeatableBodySource { DataBody(data) }

    func next() async throws -> ByteSlice? { buffered() }

    func buffered() -> ByteSlice? {
        let range = offset.withLock { offset in
            defer { offset = min(offset + FileContent.inlineLimit, data.count) }
            return offset..<min(offset + FileContent.inlineLimit, data.count)
        }
        guard !range.isEmpty else { return nil }
        let start = data.startIndex
        return ByteSlice(data[(start + range.lowerBound)..<(start + range.upperBound)].span)
    }
}

/// Content in memory, in pieces of 64 KiB.
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
