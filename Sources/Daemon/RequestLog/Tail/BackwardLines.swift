import NetproxySystem

/// Reads the lines of a file backwards, in blocks.
struct BackwardLines {
    private static let blockSize = 64 * 1024

    private let file: ReadableFile
    /// The end of the unread part of the file.
    private var offset: Int
    /// Bytes read but not yet returned, ending with a complete line.
    private var pending: [UInt8] = []

    /// Creates a reader that starts before `end`, which must be the beginning of a line.
    init(_ file: ReadableFile, before end: Int) {
        self.file = file
        offset = end
    }

    /// Returns the previous line without its newline, or nil before the first one.
    mutating func next() throws(FileError) -> [UInt8]? {
        let newline = UInt8(ascii: "\n")
        while true {
            let body = pending.last == newline ? pending.dropLast() : pending[...]
            if let cut = body.lastIndex(of: newline) {
                let line = Array(body[(cut + 1)...])
                pending.removeSubrange((cut + 1)...)
                return line
            }
            let start = max(0, offset - Self.blockSize)
            let block = try file.read(offset - start, at: start)
            guard !block.isEmpty else {
                let line = pending.isEmpty ? nil : Array(body)
                pending = []
                return line
            }
            offset = start
            pending = block + pending
        }
    }
}
