/// The value of a variable for `netproxy exec`: a text with placeholders, or one word instead of a placeholder.
package struct ExecText: Sendable, Hashable {
    package enum Part: Sendable, Hashable {
        case text(String)
        case word(Word)
        /// A lent key of this many letters and digits.
        case shapedKey(length: Int)
    }

    package enum Word: String, Sendable, CaseIterable {
        /// The URL that represents the base of the upstream's.
        case url
        /// The URL with the key as its password.
        case keyedURL = "keyed_url"
        /// The key lent to the program.
        case key
        /// The path of a Unix socket for the channel.
        case socket
        /// The `host:port` of that URL.
        case host
    }

    package let parts: [Part]

    /// The lengths of a shaped key; a shorter key could be guessed.
    package static let keyLengths = 20...256

    static var expectation: String {
        let words = Word.allCases.map(\.rawValue) + ["a text such as 'sk-{key:36}'"]
        return words.alternatives
    }

    package init(_ word: Word) {
        parts = [.word(word)]
    }

    /// Parses the value; `nil` for an unknown word or placeholder.
    ///
    /// A text of lower-case letters must be a word, since it may be a misspelling of one.
    init?(text: String) {
        if let word = Word(rawValue: text) {
            self.parts = [.word(word)]
            return
        }
        guard TextRules.isPlain(text), !text.allSatisfy({ ("a"..."z").contains($0) }) else {
            return nil
        }
        var (parts, rest): ([Part], Substring) = ([], text[...])
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}"),
                let part = Part(placeholder: rest[rest.index(after: open)..<close])
            else { return nil }
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            parts.append(part)
            rest = rest[rest.index(after: close)...]
        }
        guard !rest.contains("}") else { return nil }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// Whether the value is a key of its own shape.
    package var isShapedKey: Bool {
        parts.contains { if case .shapedKey = $0 { true } else { false } }
    }
}

extension ExecText.Part {
    fileprivate init?(placeholder: Substring) {
        if let word = ExecText.Word(rawValue: String(placeholder)) {
            self = .word(word)
        } else if placeholder.hasPrefix("key:"),
            let length = WholeNumber.parse(placeholder.dropFirst(4)),
            ExecText.keyLengths.contains(length)
        {
            self = .shapedKey(length: length)
        } else {
            return nil
        }
    }
}
