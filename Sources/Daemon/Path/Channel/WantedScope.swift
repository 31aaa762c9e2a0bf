import NetworkCore
import OAuth
import Synchronization

/// The scopes missing from a channel's token, as learned from the API since the channel was created.
///
/// Only a sign-in can add scopes to a token, and it recreates the channel.
package final class WantedScope: Sendable {
    /// The largest number of remembered scopes; APIs with more of them require few at a time.
    private static let limit = 32
    /// The longest remembered scope, in bytes.
    private static let longest = 256

    private let known = Mutex<[String]>([])

    /// The missing scopes, in order.
    var scopes: [String] { known.withLock { $0 } }

    /// The missing scopes as one text; `nil` if there are none.
    package var text: String? {
        let scopes = scopes
        return scopes.isEmpty ? nil : scopes.joined(separator: " ")
    }

    /// Records the missing scopes from a response that refuses a token.
    func learn(from headers: HTTPHeaders) {
        let missing = ScopeList.missing(by: headers).filter { $0.utf8.count <= Self.longest }
        guard !missing.isEmpty else { return }
        known.withLock { $0 = Array(ScopeList.union($0, missing).prefix(Self.limit)) }
    }
}
