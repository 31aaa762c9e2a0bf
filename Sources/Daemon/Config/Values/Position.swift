/// A position in a configuration; line and column begin at 1, columns count Unicode scalars.
package struct Position: Sendable, Hashable, Comparable {
    /// The beginning of the main file.
    package static let start = Position(line: 1, column: 1)

    /// The index in ``ProxyConfiguration/files``: 0 is the main file, the others are included.
    package var source: Int
    package var line: Int
    package var column: Int

    package init(source: Int = 0, line: Int, column: Int) {
        self.source = source
        self.line = line
        self.column = column
    }

    package static func < (left: Position, right: Position) -> Bool {
        (left.source, left.line, left.column) < (right.source, right.line, right.column)
    }
}
