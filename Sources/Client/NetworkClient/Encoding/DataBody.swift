import FoundationEssentials
import Synchronization

/// Bytes of the program's as content, 64 KiB at a time: no second copy of all of them is made.
final class DataBody: RepeatableBodySource {
    /// Up to this many bytes are copied at once, which costs less than pieces.
    static let shortest = 256 * 1024

    private let data: Data
    private let offset = Mutex(0)

    init(_ data: Data) {
        self.data = data
    }

    /// The body that has these bytes.
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
