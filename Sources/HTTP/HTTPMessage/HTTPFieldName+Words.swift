extension HTTPFieldName {
    /// The words of names of fields with credentials, also as the end of a longer word: `X-Accesstoken`.
    private static let secretWords = [
        "token", "secret", "password", "passwd", "passphrase", "credential", "credentials",
        "apikey",
        "accesskey", "secretkey", "authorization", "authentication", "jwt", "bearer", "cookie",
        "assertion",
        "signature",
    ]
    /// The words that count only as a whole.
    private static let wholeWords: Set<String> = ["auth", "sig", "otp", "pwd", "sid", "session"]
    /// The words before `key` in names of other keys.
    private static let otherKeys: Set<String> = [
        "idempotency", "websocket", "surrogate", "cache", "partition", "routing", "sort", "object",
        "public",
        "primary", "foreign", "deduplication", "message",
    ]

    /// Whether the words of the name say that the field contains a credential.
    var namesCredential: Bool {
        let words = text.lowercased().split { !($0.isLetter || $0.isNumber) }.map(String.init)
        if words.last == "key", !words.dropLast().contains(where: HTTPFieldName.otherKeys.contains)
        {
            return true
        }
        return words.contains { word in
            HTTPFieldName.wholeWords.contains(word)
                || HTTPFieldName.secretWords.contains { word.hasSuffix($0) }
        }
    }
}

extension HTTPFieldName {
    /// Whether the last letters of a name can end a word for credentials; without an allocation.
    package static func mayBeConfidential(_ name: Span<UInt8>) -> Bool {
        guard name.count >= 3 else { return false }
        let last = (
            Grammar.lowercased(name[name.count - 2]), Grammar.lowercased(name[name.count - 1])
        )
        return endings.contains { $0.0 == last.0 && $0.1 == last.1 }
    }

    private static let endings: [(UInt8, UInt8)] = [
        "token", "key", "secret", "password", "passwd", "passphrase", "auth", "credential",
        "credentials",
        "authorization", "jwt", "bearer", "cookie", "signature", "session",
    ].map { word in
        let bytes = Array(word.utf8.suffix(2))
        return (bytes[0], bytes[1])
    }
}
