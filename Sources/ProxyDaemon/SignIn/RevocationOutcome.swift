import NetworkCore
import OAuth

/// What became of tokens that were to be revoked.
package struct RevocationOutcome: Sendable {
    /// What happened, or cannot happen, a sentence each.
    package private(set) var lines: [String]
    /// What should have happened: those tokens are good at the server for as long as they live.
    package private(set) var failures: [String]

    init(lines: [String] = [], failures: [String] = []) {
        self.lines = lines
        self.failures = failures
    }

    /// Adds what should have happened and has not.
    package mutating func fail(_ words: String) { failures.append(words) }

    /// Adds what became of a token.
    mutating func add(_ name: String, _ outcome: Revocation.Outcome) {
        switch outcome {
        case .revoked: lines.append("The server has revoked the \(name).")
        case .notOffered:
            lines.append(
                "The server names no place to revoke the \(name) at: it is good until it ends."
            )
        case .kindNotOffered:
            lines.append("The server does not revoke the \(name): it is good until it ends.")
        case .failed(let words): failures.append("the \(name) was not revoked: \(words)")
        }
    }
}
