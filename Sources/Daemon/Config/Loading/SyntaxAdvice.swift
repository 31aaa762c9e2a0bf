import NetproxyYAML

/// Explains an error in YAML text in terms of the author's mistake.
///
/// A parser knows only the unexpected token. The lines around it distinguish the usual mistakes.
struct SyntaxAdvice {
    private let lines: [Substring]

    init(_ text: String) {
        // Swift reads a Windows line ending as one character.
        lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }

    /// Returns the fault with a better message and position, if the lines show the mistake.
    func explained(_ fault: YAMLFault) -> YAMLFault {
        guard lines.indices.contains(fault.mark.line - 1) else { return fault }
        return tab(fault) ?? colon(fault) ?? indentation(fault) ?? inPlainWords(fault)
    }

    /// Returns the fault with a message that names no grammar productions.
    private func inPlainWords(_ fault: YAMLFault) -> YAMLFault {
        let known = Self.plainWords.first { fault.message.contains($0.reason) }
        return known.map { YAMLFault($0.words, at: fault.mark) } ?? fault
    }

    private static let plainWords: [(reason: String, words: String)] = [
        ("did not find expected ',' or '}'", "expected ',' or '}': a '{' above is not closed"),
        ("did not find expected ',' or ']'", "expected ',' or ']': a '[' above is not closed"),
        ("scanning a quoted scalar", "a quote above is not closed"),
        ("undefined alias", "*name needs an anchor, &name; a text that begins with * needs quotes"),
        ("another document", "only a single document is allowed; remove '---' and what follows"),
        ("did not find expected key", "this line continues neither a map nor a list above it"),
        ("'-' indicator", "this line continues no list above it; an item begins with '- '"),
    ]

    /// Returns the fault for a tab before the first word of the line.
    private func tab(_ fault: YAMLFault) -> YAMLFault? {
        let blanks = line(fault.mark.line).prefix { $0 == " " || $0 == "\t" }
        guard let tab = blanks.firstIndex(of: "\t") else { return nil }
        let column = blanks.distance(from: blanks.startIndex, to: tab) + 1
        return YAMLFault(
            "a tab; YAML is indented with spaces",
            at: YAMLMark(line: fault.mark.line, column: column)
        )
    }

    /// Returns the fault for a second `: ` in a line, or in a value between braces.
    private func colon(_ fault: YAMLFault) -> YAMLFault? {
        let column = fault.mark.column
        let line = line(fault.mark.line)
        guard line.dropFirst(column - 1).first == ":" else { return nil }
        let before = line.prefix(column - 1)
        let isFlow = fault.message.contains("flow")
        // In a block, the first colon of a line belongs to its key.
        guard isFlow ? isInMapping(before) : before.contains(": ") else { return nil }
        return YAMLFault(
            "a value that contains ': ' needs quotes, such as \"a: b\"",
            at: fault.mark
        )
    }

    /// Whether the word at the end of a line between braces is a value, not a key.
    private func isInMapping(_ before: Substring) -> Bool {
        let item = before.split(omittingEmptySubsequences: false) { "{[,".contains($0) }.last ?? ""
        return item.contains(": ")
    }

    /// Returns the fault for a line with an indentation unlike any above it, or for a key above it without a
    /// colon.
    private func indentation(_ fault: YAMLFault) -> YAMLFault? {
        let isBlock =
            fault.message.contains("block") || fault.message.hasPrefix("mapping values")
        guard isBlock, let above = significantLine(above: fault.mark.line) else { return nil }
        let (own, other) = (indent(line(fault.mark.line)), indent(line(above)))
        let content = line(above).dropFirst(other)
        let word = ConfigNode.keyName(
            String(content.prefix { $0 != ":" && $0 != " " && $0 != "#" })
        )
        if own > other, !content.contains(":"), !content.hasPrefix("-"), word == content {
            return YAMLFault(
                "the key '\(word)' in line \(above) needs a ':' after it",
                at: fault.mark
            )
        }
        guard own != other, content.contains(":") else { return nil }
        return YAMLFault(
            "this line is indented by \(spaces(own)); '\(word)' above it by \(other)",
            at: YAMLMark(line: fault.mark.line, column: own + 1)
        )
    }

    private func line(_ number: Int) -> Substring { lines[number - 1] }

    private func indent(_ line: Substring) -> Int { line.prefix { $0 == " " }.count }

    private func spaces(_ count: Int) -> String { count == 1 ? "1 space" : "\(count) spaces" }

    /// Returns the number of the nearest line above that has more than white space or a comment.
    private func significantLine(above number: Int) -> Int? {
        (1..<number).last { number in
            line(number).first { !$0.isWhitespace }.map { $0 != "#" } ?? false
        }
    }
}
