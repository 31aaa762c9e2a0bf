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
    @inline(__always)
    package static func mayBeConfidential(_ name: Span<UInt8>) -> Bool {
        guard name.count >= 3 else { return false }
        switch (name[name.count - 2] | 0x20, name[name.count - 1] | 0x20) {
        // token, secret, key, bearer
        case (0x65, 0x6E), (0x65, 0x74), (0x65, 0x79), (0x65, 0x72): return true
        // password, passwd, passphrase, auth
        case (0x72, 0x64), (0x77, 0x64), (0x73, 0x65), (0x74, 0x68): return true
        // credential, credentials, authorization, session
        case (0x61, 0x6C), (0x6C, 0x73), (0x6F, 0x6E): return true
        // jwt, cookie, signature
        case (0x77, 0x74), (0x69, 0x65), (0x72, 0x65): return true
        default: return false
        }
    }
}
