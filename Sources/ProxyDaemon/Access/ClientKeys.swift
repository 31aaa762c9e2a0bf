import NetworkCore
import Synchronization

/// The keys that the daemon lent to programs, in addition to the channels' `access.key`.
///
/// Shared by all loops; consulted only for requests with a key.
final class ClientKeys: Sendable {
    /// A key and where it is valid.
    struct Grant: Sendable {
        let key: Secret
        /// The channels that it was lent for; `nil` for all of them.
        let channels: Set<String>?
        /// Those of them that it opens if they require a key.
        let opened: Set<String>
        /// Never yields; finishes when the key is revoked.
        let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    /// What a key is worth at a channel.
    enum Standing: Sendable, Equatable {
        /// It was not lent by this daemon.
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
    /// How many there are, so that a request without one takes no lock.
    private let count = Atomic<Int>(0)

    /// Whether any key is valid at present.
    var isAnyOut: Bool { count.load(ordering: .relaxed) > 0 }

    /// Makes a key that is valid until it is revoked: 32 letters and digits, about 190 random bits.
    ///
    /// - Parameters:
    ///   - channels: what it is for; `nil` for all channels.
    ///   - opened: those of them that it opens if they require a key.
    /// - Returns: the key, with the stream that ends with it.
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

    /// Revokes a key; harmless if it is revoked already.
    func revoke(_ grant: Grant) {
        change { $0.removeAll { $0.key == grant.key } }
        grant.end.finish()
    }

    /// Revokes all keys, at a shutdown.
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

    /// What the key is worth at the channel.
    func standing(of key: Secret, at channel: String) -> Standing {
        grants.withLock { grants in
            // All are compared, so that the time reveals nothing about a near match.
            grants.reduce(.unknown) { found, grant in
                guard grant.key == key else { return found }
                guard grant.channels?.contains(channel) ?? true else { return .elsewhere }
                return .lent(opens: grant.opened.contains(channel))
            }
        }
    }
}
