import NetproxyBytes
import NetproxySystem

/// The recorded part of a body: its beginning in memory, the rest in a file.
struct RecordedBody {
    /// The location of the content at a position.
    enum ContentLocation {
        case memory(ByteSlice)
        case file(SpillFile, offset: Int, count: Int)
    }

    private struct Piece {
        let start: Int
        let content: ByteSlice
    }

    /// The size below which a piece is copied, so that it does not keep a whole read buffer alive.
    private static let copyBelow = 2048
    /// The size of one read from the file.
    private static let readSize = 64 * 1024

    private var pieces: [Piece] = []
    private var memoryCount = 0
    private var file: SpillFile?

    /// The number of bytes.
    private(set) var count = 0

    /// The number of bytes in the file.
    var fileCount: Int { count - memoryCount }

    /// The file, if it exists already.
    var spillFile: SpillFile? { file }

    /// Keeps a piece in memory; once a piece is in the file, all later ones must be.
    mutating func append(_ piece: ByteSlice) {
        let kept = piece.count < Self.copyBelow ? ByteSlice(piece.array) : piece
        pieces.append(Piece(start: count, content: kept))
        count += piece.count
        memoryCount = count
    }

    /// Counts a piece that was appended to the file.
    mutating func append(written length: Int, in file: SpillFile) {
        self.file = file
        count += length
    }

    /// Returns the content at a position, which must be in the file or at the start of a piece.
    func place(at position: Int) -> ContentLocation? {
        if position >= count { return nil }
        if let file, position >= memoryCount {
            return .file(
                file,
                offset: position - memoryCount,
                count: min(count - position, Self.readSize)
            )
        }
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].start < position { low = middle + 1 } else { high = middle }
        }
        return low < pieces.count && pieces[low].start == position
            ? .memory(pieces[low].content) : nil
    }

    /// Discards everything.
    mutating func clear() { self = RecordedBody() }
}
