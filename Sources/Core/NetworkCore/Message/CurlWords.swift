/// The words of a curl command for a POSIX shell.
package enum CurlWords {
    /// The form of a request target (RFC 9112 §3.2).
    package enum TargetForm {
        case path
        /// The server as a whole (§3.2.4); the URL has no path.
        case asterisk
    }

    /// The option for the method of a request without content; empty if curl would choose the same.
    package static func method(_ method: String) -> [String] {
        switch method {
        case "GET": []
        // With `-X HEAD`, curl would wait for the content of the response.
        case "HEAD": ["--head"]
        default: methodWithContent(method)
        }
    }

    /// The option for the method of a request with content: curl would choose POST, and refuses `--head`.
    package static func methodWithContent(_ method: String) -> [String] {
        ["-X", quoted(method)]
    }

    /// The URL, and the options that keep curl from changing it: curl reads brackets and braces as
    /// patterns, and removes dot segments.
    ///
    /// - Returns: options, and the URL as the last.
    package static func url(_ url: String, _ form: TargetForm = .path) -> [String] {
        var words: [String] = []
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        let path = url.lowercased().replacing("%2e", with: ".")
        if path.contains("/.") { words.append("--path-as-is") }
        if form == .asterisk { words += ["--request-target", quoted("*")] }
        return words + [quoted(url)]
    }

    /// The option for a field; curl sends a field without a value if a semicolon replaces the colon.
    package static func field(_ name: String, _ value: String) -> [String] {
        ["-H", quoted(value.isEmpty ? "\(name);" : "\(name): \(value)")]
    }

    /// One word for the shell.
    ///
    /// It reads scalars: a quote with an accent is another character, but ends the word for the shell.
    /// `printf` writes the scalars that a terminal would obey: DEL, C1 controls and those of writing
    /// direction, all of which a field value may have.
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

    /// A scalar's bytes in the notation of `printf`: a backslash and three digits each.
    private static func octal(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf8.map { byte in
            #"\"# + [byte >> 6, byte >> 3 & 7, byte & 7].map(String.init).joined()
        }.joined()
    }
}

/// The effect of foreign text on the terminal that shows it.
package enum TerminalText {
    /// Whether a terminal would obey the scalar: a control character, or one that changes the direction of
    /// writing, so that a line would read as another (CVE-2021-42574).
    package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
