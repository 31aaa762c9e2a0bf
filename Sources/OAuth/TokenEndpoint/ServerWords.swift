import NetworkCore

/// Makes text that a server sent fit for logs and errors: short, printable, without secrets.
enum ServerWords {
    /// The longest text that is quoted; `error_description` is a sentence, not a document.
    private static let limit = 200
    /// A run of this many token characters is taken for a secret, even an unknown one.
    private static let suspiciousRun = 40

    /// Returns the cleaned text, or `nil` if nothing is left of it.
    static func clean(_ text: String, secrets: [Secret]) -> String? {
        let text = Redaction.hiding(secrets, in: text)
        var cleaned = ""
        var run = ""
        func endRun() {
            cleaned += run.utf8.count >= suspiciousRun ? Redaction.mark : run
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
        if cleaned.count > limit { cleaned = cleaned.prefix(limit) + "…" }
        return cleaned.allSatisfy(\.isWhitespace) ? nil : cleaned
    }

    private static func isTokenScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", "+", "/", "=", "%": true
        default: false
        }
    }
}
