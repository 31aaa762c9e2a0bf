/// Quotes and formats the words of a curl command for a POSIX shell.
package enum CurlWords {
    /// The form of a request target (RFC 9112 §3.2).
    package enum TargetForm {
        case path
        /// The server as a whole (§3.2.4); the URL has no path.
        case asterisk
    }

    /// Returns the option for the method of a request without content; empty if it is curl's default.
    package static func method(_ method: String) -> [String] {
        switch method {
        case "GET": []
        // With `-X HEAD`, curl would wait for content.
        case "HEAD": ["--head"]
        default: methodWithContent(method)
        }
    }

    /// Returns the option for the method of a request with content; curl defaults to POST and refuses
    /// `--head`.
    package static func methodWithContent(_ method: String) -> [String] {
        ["-X", quoted(method)]
    }

    /// Returns the URL and the options that keep curl from changing it.
    ///
    /// Otherwise, curl reads brackets and braces as patterns, and removes dot segments.
    ///
    /// - Returns: the options, with the URL as the last word.
    package static func url(_ url: String, _ form: TargetForm = .path) -> [String] {
        var words: [String] = []
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        let path = url.lowercased().replacing("%2e", with: ".")
        if path.contains("/.") { words.append("--path-as-is") }
        if form == .asterisk { words += ["--request-target", quoted("*")] }
        return words + [quoted(url)]
    }

    /// Returns the option for a field; curl sends an empty field if a semicolon replaces the colon.
    package static func field(_ name: String, _ value: String) -> [String] {
        ["-H", quoted(value.isEmpty ? "\(name);" : "\(name): \(value)")]
    }

    /// Quotes one word for the shell.
    ///
    /// It iterates over scalars, because a quote with an accent is another character but still ends the word
    /// in the
    /// shell. `printf` writes the scalars that control a terminal and that a field value may contain: DEL, C1
    /// controls
    /// and bidirectional controls.
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

    /// Returns a scalar's bytes in the notation of `printf`, as a backslash and three digits each.
    private static func octal(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf8.map { byte in
            #"\"# + [byte >> 6, byte >> 3 & 7, byte & 7].map(String.init).joined()
        }.joined()
    }
}

/// The effect of untrusted text on a terminal.
package enum TerminalText {
    /// Whether the scalar controls a terminal: a control character, or one that changes the direction of the
    /// text.
    ///
    /// A change of direction can make a line look like another (CVE-2021-42574).
    package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
