import NetworkCore
import Synchronization

/// Keys that the daemon itself gave out for a while, beside the channels' `access.key`.
///
/// Shared by all loops; consulted only where an app shows a key.
final class ClientKeys: Sendable {
    /// A key and where it counts.
    struct Grant: Sendable {
        let key: Secret
        /// The channels that it was lent for; nothing for all of them.
        let channels: Set<String>?
        /// Those of them that it opens, should they demand a key.
        let opened: Set<String>
        /// Never yields; over when the key is.
        let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    /// What a key is to a channel.
    enum Standing: Sendable, Equatable {
        /// It was not lent here.
        case unknown
        /// It was lent for other channels.
        case elsewhere
        /// It was lent for this one.
        case lent(opens: Bool)
    }

    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    private let grants = Mutex<[Grant]>([])
    /// How many there are, for those who only ask whether there are any.
    private let count = Atomic<Int>(0)

    /// Whether any key counts at present.
    var isAnyOut: Bool { count.load(ordering: .relaxed) > 0 }

    /// Makes a key that counts until it is revoked: 32 letters and digits, some 190 random bits.
    ///
    /// - Parameters:
    ///   - channels: what it is for; nothing for all channels.
    ///   - opened: those of them that it opens where they demand a key.
    /// - Returns: the key, with its life.
    func issue(for channels: Set<String>?, opening opened: Set<String>) -> Grant {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<32).map { _ in
            ClientKeys.digits[Int.random(in: 0..<ClientKeys.digits.count, using: &generator)]
        }
        let (life, end) = AsyncStream.makeStream(of: Never.self)
        let grant = Grant(
            key: Secret(String(decoding: text, as: UTF8.self)),
            channels: channels,
            opened: opened,
            life: life,
            end: end
        )
        change { $0.append(grant) }
        return grant
    }

    /// Ends a key; harmless if it has ended.
    func revoke(_ grant: Grant) {
        change { $0.removeAll { $0.key == grant.key } }
        grant.end.finish()
    }

    /// Ends all of them: nobody is left to accept them.
    func revokeAll() {
        let all = change { grants in
            defer { grants = [] }
            return grants
        }
        for grant in all { grant.end.finish() }
    }

    private func change<Result>(_ edit: (inout [Grant]) -> sending Result) -> sending Result {
        grants.withLock { grants in
            defer { count.store(grants.count, ordering: .relaxed) }
            return edit(&grants)
        }
    }

    /// What the key is to the channel.
    func standing(of key: Secret, at channel: String) -> Standing {
        grants.withLock { grants in
            // Each is compared, so that the time says nothing about which one is near.
            grants.reduce(.unknown) { found, grant in
                guard grant.key == key else { return found }
                guard grant.channels?.contains(channel) ?? true else { return .elsewhere }
                return .lent(opens: grant.opened.contains(channel))
            }
        }
    }
}
