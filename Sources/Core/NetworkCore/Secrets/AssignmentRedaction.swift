extension Redaction {
    /// Parts of the names of secrets, without punctuation.
    private static let secretWords = [
        "secretaccesskey", "secretkey", "sessiontoken", "securitytoken", "accesstoken",
        "refreshtoken", "idtoken", "clientsecret", "password",
    ]

    /// Returns a line of program output without the values of secrets.
    ///
    /// It recognizes `name = value` (as in an AWS credentials file), `name: value` and `"name": "value"`.
    package func assignments(in text: String) -> String {
        let source = Array(text.utf8)
        var shown: [UInt8] = []
        var position = 0
        while position < source.count {
            let byte = source[position]
            position += 1
            shown.append(byte)
            guard byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") else { continue }
            let name = Redaction.name(before: position - 1, in: source)
            if byte == UInt8(ascii: ":"), Redaction.isField(name) {
                // A field's value has several words: hide it up to the end of the line or of the argument.
                shown += " \(Redaction.mark)".utf8
                position =
                    source[position...].firstIndex { "\n\"'".utf8.contains($0) } ?? source.count
                continue
            }
            guard isSecret(name, before: byte) else { continue }
            while position < source.count, Redaction.isAround(source[position]) {
                shown.append(source[position])
                position += 1
            }
            guard position < source.count else { break }
            shown += Redaction.mark.utf8
            while position < source.count, !Redaction.isAround(source[position]),
                source[position] != UInt8(ascii: ","), source[position] != UInt8(ascii: ";")
            {
                position += 1
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Whether a text is the name of a field with a credential, and not a word of a sentence.
    private static func isField(_ name: String) -> Bool {
        guard let field = HTTPFieldName(name), field.isConfidential else { return false }
        return name.contains("-") || field == .authorization || field == .cookie
    }

    /// Returns the name before a position, without the quotes around it.
    private static func name(before end: Int, in source: [UInt8]) -> String {
        let name = source[..<end].reversed().drop(while: isAround).prefix { byte in
            Grammar.isAlphanumeric(byte) || "._-".utf8.contains(byte)
        }
        return String(decoding: name.reversed(), as: UTF8.self)
    }

    /// Whether the name denotes a secret; before a colon, which also occurs in sentences, fewer names do.
    private func isSecret(_ name: String, before sign: UInt8) -> Bool {
        let word = name.lowercased().filter { $0.isLetter || $0.isNumber }
        return Redaction.secretWords.contains { word.contains($0) }
            || sign == UInt8(ascii: "=") && hides(parameter: name[...])
    }

    /// Whether a byte can surround a name or a value: white space, a quote or a backslash.
    private static func isAround(_ byte: UInt8) -> Bool { " \t\"'\\".utf8.contains(byte) }
}
