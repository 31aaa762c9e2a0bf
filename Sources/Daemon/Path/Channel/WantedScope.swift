import NetworkCore
import OAuth
import Synchronization

/// The scopes that the API of a channel has missed in its token, since the channel was made.
///
/// Only a sign-in can add scopes to a token, and it makes the channel again.
package final class WantedScope: Sendable {
    /// The most scopes that are remembered: APIs with more of them ask for few at a time.
    private static let limit = 32
    /// The longest scope that is remembered, in bytes.
    private static let longest = 256

    private let known = Mutex<[String]>([])

    /// What has been missed so far, in order.
    var scopes: [String] { known.withLock { $0 } }

    /// The same as one text; `nil` if nothing was missed.
    package var text: String? {
        let scopes = scopes
        return scopes.isEmpty ? nil : scopes.joined(separator: " ")
    }

    /// Learns from a response that refuses a token for its scope.
    func learn(from headers: HTTPHeaders) {
        let missing = ScopeList.missing(by: headers).filter { $0.utf8.count <= Self.longest }
        guard !missing.isEmpty else { return }
        known.withLock { $0 = Array(ScopeList.union($0, missing).prefix(Self.limit)) }
    }
}
