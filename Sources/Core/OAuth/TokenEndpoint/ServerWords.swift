package import NetworkCore

/// Makes text that a server sent fit for logs and errors: of bounded length, printable, without secrets.
package enum ServerWords {
    /// The longest quoted text, in bytes.
    ///
    /// Entra ID's messages, with the ids for its support, have about 500.
    private static let limit = 2048
    /// A run of this many token characters counts as a secret, even an unknown one.
    private static let suspiciousRun = 40

    /// Returns the cleaned text; `nil` if nothing remains.
    package static func clean(_ text: String, secrets: [Secret]) -> String? {
        let text = Redaction.message(Redaction.hiding(secrets, in: text))
        var cleaned = ""
        var run = ""
        func endRun() {
            cleaned += shown(run, after: cleaned)
            run = ""
        }
        for scalar in text.unicodeScalars {
            if isTokenScalar(scalar) {
                run.unicodeScalars.append(scalar)
            } else {
                endRun()
                let isPrintable =
                    scalar.value >= 0x20 && scalar.properties.generalCategory != .control
                    && scalar.properties.generalCategory != .format
                cleaned.unicodeScalars.append(isPrintable ? scalar : " ")
            }
        }
        endRun()
        if cleaned.utf8.count > limit {
            // A character that the limit cuts in two is left out.
            while cleaned.utf8.count > limit { cleaned.removeLast() }
            cleaned += "…"
        }
        return cleaned.allSatisfy(\.isWhitespace) ? nil : cleaned
    }

    /// A run of token characters as it may be shown: of the address of a page, which providers add to
    /// their messages, each part by itself.
    private static func shown(_ run: String, after text: String) -> String {
        guard run.utf8.count >= suspiciousRun else { return run }
        let isURL = run.hasPrefix("//") && (text.hasSuffix("http:") || text.hasSuffix("https:"))
        guard isURL || endsBeforePort(text) else { return Redaction.mark }
        return run.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.utf8.count >= suspiciousRun ? Redaction.mark : String($0) }
            .joined(separator: "/")
    }

    /// Whether a text ends with scheme and host of a URL and a colon.
    private static func endsBeforePort(_ text: String) -> Bool {
        guard text.hasSuffix(":"), let mark = text.ranges(of: "://").last else { return false }
        let (scheme, host) = (text[..<mark.lowerBound], text[mark.upperBound...].dropLast())
        return (scheme.hasSuffix("http") || scheme.hasSuffix("https"))
            && !host.contains { $0 == "/" || $0 == "@" || $0.isWhitespace }
    }

    private static func isTokenScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", "+", "/", "=", "%": true
        default: false
        }
    }
}
