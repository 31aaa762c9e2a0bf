import NetworkCore
import OAuth

/// The outcome of revoking tokens.
package struct RevocationOutcome: Sendable {
    /// The revoked tokens and the impossible revocations, one sentence each.
    package private(set) var lines: [String]
    /// The failures, one clause each; these tokens stay valid until they expire.
    package private(set) var failures: [String]

    init(lines: [String] = [], failures: [String] = []) {
        self.lines = lines
        self.failures = failures
    }

    /// Adds a failure.
    package mutating func fail(_ words: String) { failures.append(words) }

    /// Adds the outcome for a token.
    mutating func add(_ name: String, _ outcome: Revocation.Outcome) {
        switch outcome {
        case .revoked: lines.append("The server has revoked the \(name).")
        case .notOffered:
            lines.append(
                "The server has no revocation endpoint: the \(name) stays valid until it expires."
            )
        case .kindNotOffered:
            lines.append("The server does not revoke the \(name): it stays valid until it expires.")
        case .failed(let words): failures.append("the \(name) was not revoked: \(words)")
        }
    }
}
