import System

/// The lines of a file from its end to its beginning, read in blocks.
struct BackwardLines {
    private static let blockSize = 64 * 1024

    private let file: ReadableFile
    /// Where the part that was not read yet ends.
    private var offset: Int
    /// What was read and not handed out: the end of a line first.
    private var pending: [UInt8] = []

    /// The lines in front of `end`, which is the beginning of a line.
    init(_ file: ReadableFile, before end: Int) {
        self.file = file
        offset = end
    }

    /// The line before, without its newline; nothing in front of the first.
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
