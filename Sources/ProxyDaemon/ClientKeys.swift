import NetworkCore
import Synchronization

/// Keys that the daemon itself gave out for a while, beside the channels' `access.key`.
///
/// Shared by all loops; consulted only where a channel demands a key.
final class ClientKeys: Sendable {
    /// A key and where it counts.
    struct Grant: Sendable {
        let key: Secret
        let channels: Set<String>
        /// Never yields; over when the key is.
        let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    private let grants = Mutex<[Grant]>([])

    /// Makes a key that counts until it is revoked: 32 letters and digits, some 190 random bits.
    func issue(for channels: Set<String>) -> Grant {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<32).map { _ in
            ClientKeys.digits[Int.random(in: 0..<ClientKeys.digits.count, using: &generator)]
        }
        let (life, end) = AsyncStream.makeStream(of: Never.self)
        let grant = Grant(
            key: Secret(String(decoding: text, as: UTF8.self)),
            channels: channels,
            life: life,
            end: end
        )
        grants.withLock { $0.append(grant) }
        return grant
    }

    /// Ends a key; harmless if it has ended.
    func revoke(_ grant: Grant) {
        grants.withLock { $0.removeAll { $0.key == grant.key } }
        grant.end.finish()
    }

    /// Ends all of them: nobody is left to accept them.
    func revokeAll() {
        let all = grants.withLock { grants in
            defer { grants = [] }
            return grants
        }
        for grant in all { grant.end.finish() }
    }

    /// Whether the key counts for the channel.
    func accepts(_ key: Secret, for channel: String) -> Bool {
        grants.withLock { grants in
            // Each is compared, so that the time says nothing about which one is near.
            grants.reduce(false) { found, grant in
                let isEqual = grant.key == key
                return found || isEqual && grant.channels.contains(channel)
            }
        }
    }
}
