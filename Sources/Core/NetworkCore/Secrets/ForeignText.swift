extension Redaction {
    /// The beginnings of the keys of well-known services.
    private static let keyPrefixes = [
        "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "ghp_", "gho_", "ghu_",
        "ghs_",
        "ghr_", "github_pat_", "glpat-", "gldt-", "glsa_", "xoxa-", "xoxb-", "xoxe-", "xoxe.",
        "xoxp-",
        "xoxr-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "1//0", "hf_", "npm_", "pypi-",
        "dop_v1_", "doo_v1_", "dor_v1_", "SG.", "shpat_", "shpss_", "shpca_", "sq0atp-", "sq0csp-",
        "dckr_pat_", "lin_api_", "ntn_", "secret_", "sntrys_", "sntryu_", "hvs.", "hvb.", "hvr.",
        "gsk_",
        "pplx-", "xai-", "r8_", "rubygems_", "tskey-", "NRAK-", "PMAK-", "AGE-SECRET-KEY-", "eyJ",
    ].map { Array($0.utf8) }
    /// The minimum number of bytes after such a beginning.
    private static let shortestRest = 8
    /// The minimum length of a text after `Bearer` or `Basic` that has no digit, in bytes.
    private static let shortestWord = 16

    /// Returns text of programs, servers and libraries without the secrets in it.
    ///
    /// It recognizes the forms in which programs print secrets: assignments, fields, URLs with a password, PEM
    /// blocks, JSON Web Tokens, and the keys of well-known services.
    package func foreign(_ text: String) -> String {
        Redaction.withoutTokens(assignments(in: Redaction.withoutPasswords(text)))
    }

    /// Returns the message of a server without the secrets in it.
    ///
    /// Codes in messages look like names, such as `BAD_REFRESH_TOKEN: expired`, so it hides no assignments.
    package static func message(_ text: String) -> String {
        withoutTokens(withoutPasswords(text))
    }

    private static func withoutPasswords(_ text: String) -> String {
        withoutUserInformation(withoutBlocks(text)) { information in
            // A mere name is often the error that a message is about.
            information.contains(":") || isCredential(Array(information.utf8)[...])
        }
    }

    /// Returns a text without PEM blocks (RFC 7468); an incomplete block is hidden to the end.
    private static func withoutBlocks(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let begin = rest.firstRange(of: "-----BEGIN ") {
            shown += rest[..<begin.lowerBound] + mark
            rest = rest[begin.upperBound...]
            guard let end = rest.firstRange(of: "-----END ") else { return shown }
            rest = rest[end.upperBound...]
            guard let close = rest.firstRange(of: "-----") else { return shown }
            rest = rest[close.upperBound...]
        }
        return shown + rest
    }

    /// Returns a text without JSON Web Tokens, keys of well-known services, and the credential after `Bearer` or
    /// `Basic`.
    static func withoutTokens(_ text: String) -> String {
        let source = Array(text.utf8)
        var shown: [UInt8] = []
        var (position, scheme) = (0, false)
        while position < source.count {
            guard isOfToken(source[position]) else {
                if source[position] != UInt8(ascii: " ") { scheme = false }
                shown.append(source[position])
                position += 1
                continue
            }
            var end = position
            while end < source.count, isOfToken(source[end]) { end += 1 }
            let word = source[position..<end]
            if isKey(word) || scheme && isCredential(word) {
                shown += mark.utf8
                // The rest of base64.
                while end < source.count,
                    isOfToken(source[end]) || "+/=~".utf8.contains(source[end])
                {
                    end += 1
                }
            } else {
                shown += word
            }
            let name = String(decoding: word, as: UTF8.self).lowercased()
            scheme = name == "bearer" || name == "basic"
            position = end
        }
        return shown.count == source.count ? text : String(decoding: shown, as: UTF8.self)
    }

    private static func isKey(_ word: ArraySlice<UInt8>) -> Bool {
        keyPrefixes.contains { prefix in
            guard word.count >= prefix.count + shortestRest, word.starts(with: prefix) else {
                return false
            }
            // Words of a language follow `sk-` and `secret_`, too.
            return isMixed(word.dropFirst(prefix.count))
        }
    }

    private static func isCredential(_ word: ArraySlice<UInt8>) -> Bool {
        word.count >= shortestWord || word.count >= shortestRest && isMixed(word.dropFirst())
    }

    /// Whether a text contains digits or uppercase letters.
    private static func isMixed(_ text: ArraySlice<UInt8>) -> Bool {
        text.contains { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        }
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        Grammar.isAlphanumeric(byte) || "._-".utf8.contains(byte)
    }
}
