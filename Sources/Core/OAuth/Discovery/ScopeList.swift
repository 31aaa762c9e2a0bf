package import NetworkCore

/// Scopes as lists and as the text of requests and challenges (RFC 6749 §3.3).
package enum ScopeList {
    /// Whether a text is one scope: printable ASCII without space, quotation mark and backslash.
    package static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte == 0x21 || (0x23...0x5B).contains(byte) || (0x5D...0x7E).contains(byte)
            }
    }

    /// The scopes in a text, each once and in order; other words are left out.
    package static func scopes(in text: String) -> [String] {
        union(text.split(separator: " ").map(String.init).filter(isScope), [])
    }

    /// The scopes of both lists, each once: those of the first list come first.
    package static func union(_ first: [String], _ second: [String]) -> [String] {
        var seen: Set<String> = []
        return (first + second).filter { seen.insert($0).inserted }
    }
}

extension ScopeList {
    /// The scopes that challenges miss in a token (RFC 6750 §3.1), each once and in order.
    package static func missing(by headers: HTTPHeaders) -> [String] {
        let challenges = headers.values(of: .wwwAuthenticate).flatMap {
            ChallengeParser.parse($0) ?? []
        }
        return challenges.filter { $0.parameters["error"] == "insufficient_scope" }
            .compactMap { $0.parameters["scope"] }
            .reduce(into: []) { $0 = union($0, scopes(in: $1)) }
    }
}
