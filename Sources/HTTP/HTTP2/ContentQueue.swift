package import NetproxyBytes

/// The received content of a message that has not been taken, in order.
///
/// Frames are short. Each piece costs its reader a system call, and a stored piece keeps the buffer from
/// which it was sliced. So short pieces after the first are combined.
package struct ContentQueue: ~Copyable {
    private var first: ByteSlice?
    private var more: [ByteSlice] = []
    /// The last piece, which still grows.
    private var gathered: SlabWriter?
    /// The number of bytes of all pieces.
    package private(set) var count = 0

    /// The maximum size of a combined piece, in bytes.
    private static let gatheredLength = 64 * 1024
    /// The maximum size of content that `takeAll` copies, in bytes; a copy does not keep the surrounding
    /// buffer.
    private static let copiedLength = 1024

    package init() {}

    package var isEmpty: Bool { first == nil }

    package mutating func append(_ piece: ByteSlice) {
        count += piece.count
        guard first != nil else {
            first = piece
            return
        }
        if var writer = gathered.take() {
            guard writer.count + piece.count > ContentQueue.gatheredLength else {
                writer.append(piece.span)
                gathered = consume writer
                return
            }
            more.append(writer.finish())
        }
        let isLong = piece.count > ContentQueue.gatheredLength / 16
        var writer = SlabWriter(expecting: isLong ? ContentQueue.gatheredLength : 0)
        writer.append(piece.span)
        gathered = consume writer
    }

    /// Removes and returns the first piece.
    package mutating func removeFirst() -> ByteSlice? {
        guard let piece = first else { return nil }
        first = more.isEmpty ? gathered.take()?.finish() : more.removeFirst()
        count -= piece.count
        return piece
    }

    /// Removes and returns all content as one piece.
    package mutating func takeAll() -> ByteSlice {
        let total = count
        guard let piece = removeFirst() else { return ByteSlice([]) }
        guard !isEmpty else {
            return total <= ContentQueue.copiedLength ? ByteSlice(piece.span) : piece
        }
        var writer = SlabWriter(expecting: total)
        writer.append(piece.span)
        while let next = removeFirst() { writer.append(next.span) }
        return writer.finish()
    }

    package mutating func removeAll() {
        (first, more, count) = (nil, [], 0)
        gathered = nil
    }
}
