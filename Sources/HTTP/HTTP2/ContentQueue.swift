package import NetproxyBytes

/// The received content of a message that has not been taken, in order.
///
/// Frames are short. Each piece costs its reader a system call, and a stored piece keeps the buffer from
/// which it was sliced. So a short first piece is copied, and the pieces after it are combined. A queue takes
/// up at most four times the memory of its content.
package struct ContentQueue: ~Copyable {
    private var first: ByteSlice?
    private var more: [ByteSlice] = []
    /// The last piece, which still grows.
    private var gathered: SlabWriter?
    /// The number of bytes of all pieces.
    package private(set) var count = 0

    /// The maximum size of a combined piece, in bytes.
    private static let gatheredLength = 64 * 1024
    /// The maximum size of a first piece that is copied, in bytes; a copy does not keep the surrounding
    /// buffer of 16 KiB.
    private static let copiedLength = 4096

    package init() {}

    package var isEmpty: Bool { first == nil }

    package mutating func append(_ piece: ByteSlice) {
        count += piece.count
        guard first != nil else {
            first = piece.count <= ContentQueue.copiedLength ? ByteSlice(piece.span) : piece
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
        var writer = SlabWriter(
            expecting: isLong ? ContentQueue.gatheredLength : 4 * piece.count,
            atLeast: 512
        )
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
        guard !isEmpty else { return piece }
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
