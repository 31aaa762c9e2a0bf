package import NetproxyHTTPMessage

/// A summary of an API's challenges for people: scheme, error and scope, and nothing else that an API
/// may repeat.
package enum ChallengeSummary {
    /// `Bearer, error insufficient_scope, scope orders.write`; `nil` without a challenge.
    package static func of(_ headers: HTTPHeaders) -> String? {
        let parts = headers.values(of: .wwwAuthenticate).flatMap(summaries)
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private static func summaries(of line: String) -> [String] {
        guard let challenges = ChallengeParser.parse(line) else {
            return ChallengeParser.looseError(in: line).map { ["error \(short($0))"] } ?? []
        }
        return challenges.map { challenge in
            let scheme = challenge.scheme.prefix(1).uppercased() + challenge.scheme.dropFirst()
            return ["error", "scope"].reduce(into: short(scheme)) { text, name in
                guard let value = challenge.parameters[name], !value.isEmpty else { return }
                text += ", \(name) \(short(value))"
            }
        }
    }

    private static func short(_ text: String) -> String {
        text.count > 200 ? text.prefix(200) + "…" : text
    }
}
