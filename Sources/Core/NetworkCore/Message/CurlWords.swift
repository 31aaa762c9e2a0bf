/// The words of a curl command for a POSIX shell.
package enum CurlWords {
    /// How a method is asked for, if it must be.
    ///
    /// - Parameters:
    ///   - method: as on the wire.
    ///   - hasContent: whether the command has some.
    /// - Returns: an empty list where curl would choose the same.
    package static func method(_ method: String, hasContent: Bool) -> [String] {
        switch method {
        // With content, curl would make it a POST.
        case "GET" where !hasContent: []
        // With content, curl refuses that; told of the method only, it waits for content of the answer.
        case "HEAD" where !hasContent: ["--head"]
        default: ["-X", quoted(method)]
        }
    }

    /// The URL, and what keeps curl from changing it: it takes brackets and braces for patterns, and
    /// removes dot segments.
    ///
    /// - Parameters:
    ///   - url: without a path if it is for the server as a whole.
    ///   - isAsterisk: whether it is (RFC 9112 §3.2.4).
    /// - Returns: options, and the URL as the last.
    package static func url(_ url: String, isAsterisk: Bool = false) -> [String] {
        var words: [String] = []
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        let path = url.lowercased().replacing("%2e", with: ".")
        if path.contains("/.") { words.append("--path-as-is") }
        if isAsterisk { words += ["--request-target", quoted("*")] }
        return words + [quoted(url)]
    }

    /// A field; curl sends one without a value if a semicolon stands for the colon.
    package static func field(_ name: String, _ value: String) -> [String] {
        ["-H", quoted(value.isEmpty ? "\(name);" : "\(name): \(value)")]
    }

    /// One word for the shell.
    ///
    /// Scalar by scalar: a quote with an accent is another character, but the shell ends the word
    /// there. What a terminal would obey (DEL, the C1 controls and those of writing direction, which a field
    /// value may have) is left to `printf`.
    package static func quoted(_ text: String) -> String {
        let safe = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:".utf8.contains(byte)
            }
        }
        guard !safe || text.isEmpty else { return text }
        var word = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" {
                word += #"'\''"#
            } else if TerminalText.isObeyed(scalar), scalar != "\t", scalar != "\n" {
                word += #"'"$(printf '"# + octal(scalar) + #"')"'"#
            } else {
                word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    /// A scalar's bytes as `printf` takes them: a backslash and three digits each.
    private static func octal(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf8.map { byte in
            #"\"# + [byte >> 6, byte >> 3 & 7, byte & 7].map(String.init).joined()
        }.joined()
    }
}

/// What a text from elsewhere may do to the terminal that shows it.
package enum TerminalText {
    /// Whether a terminal would obey it: a control character, or one that turns the direction of
    /// writing, so that a line would read as another (CVE-2021-42574).
    package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
