/// A position in the text.
///
/// Line and column begin at 1; the column counts Unicode scalars.
package struct YAMLMark: Sendable, Hashable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// A YAML syntax error with the message of libyaml.
package struct YAMLFault: Error, Sendable, Hashable {
    package let message: String
    package let mark: YAMLMark

    package init(_ message: String, at mark: YAMLMark) {
        self.message = message
        self.mark = mark
    }
}
