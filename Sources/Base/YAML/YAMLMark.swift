/// A place in the text: line and column count from 1, the column in Unicode scalars.
package struct YAMLMark: Sendable, Hashable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// Why a text is not YAML, in the words of libyaml.
package struct YAMLFault: Error, Sendable, Hashable {
    package let message: String
    package let mark: YAMLMark

    package init(_ message: String, at mark: YAMLMark) {
        self.message = message
        self.mark = mark
    }
}
