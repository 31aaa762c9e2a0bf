import NetworkCore
import Synchronization

/// The keys that the daemon lent to programs, in addition to the channels' `access.key`.
///
/// Shared by all loops; consulted only for requests with a key.
final class ClientKeys: Sendable {
    /// A key and where it is valid.
    struct Grant: Sendable {
        let key: Secret
        /// Who could ask for it.
        let borrower: Borrower
        /// The channels that it was lent for; `nil` for all of them.
        let channels: Set<String>?
        /// Those of them that it opens if they require a key.
        let opened: Set<String>
        /// Never yields; finishes when the key is revoked.
        let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    /// Who can ask for a key.
    enum Borrower: Sendable {
        /// Users that the admin socket's permissions admit.
        case permitted
        /// Every user of the machine, over TCP.
        case anyone
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

    /// How many bytes a key has.
    static let length = 32
    /// How many keys may be lent over TCP at a time, where every user of the machine can ask.
    static let limitOverTCP = 16

    /// By the hashes of the keys.
    private let grants = Mutex<[Int: [Grant]]>([:])
    /// How many there are, so that a request without one takes no lock.
    private let count = Atomic<Int>(0)

    /// Whether any key is valid at present.
    var isAnyOut: Bool { count.load(ordering: .relaxed) > 0 }

    /// Makes a key that is valid until it is revoked: 32 letters and digits, about 190 random bits.
    ///
    /// - Parameters:
    ///   - channels: what it is for; `nil` for all channels.
    ///   - opened: those of them that it opens if they require a key.
    ///   - borrower: who could ask for it.
    /// - Returns: the key, with the stream that ends with it.
    func issue(
        for channels: Set<String>?,
        opening opened: Set<String>,
        to borrower: Borrower = .permitted
    ) -> Grant {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<ClientKeys.length).map { _ in
            ClientKeys.digits[Int.random(in: 0..<ClientKeys.digits.count, using: &generator)]
        }
        let (life, end) = AsyncStream.makeStream(of: Never.self)
        let grant = Grant(
            key: Secret(String(decoding: text, as: UTF8.self)),
            borrower: borrower,
            channels: channels,
            opened: opened,
            life: life,
            end: end
        )
        change { $0[ClientKeys.hash(grant.key), default: []].append(grant) }
        return grant
    }

    /// How many keys are lent over TCP.
    var countOverTCP: Int {
        grants.withLock { $0.values.reduce(0) { $0 + $1.count { $0.borrower == .anyone } } }
    }

    /// Revokes a key; harmless if it is revoked already.
    func revoke(_ grant: Grant) {
        change { grants in
            let hash = ClientKeys.hash(grant.key)
            grants[hash]?.removeAll { $0.key == grant.key }
            if grants[hash]?.isEmpty == true { grants[hash] = nil }
        }
        grant.end.finish()
    }

    /// Revokes all keys, at a shutdown.
    func revokeAll() {
        let all = change { grants in
            defer { grants = [:] }
            return grants.values.flatMap { $0 }
        }
        for grant in all { grant.end.finish() }
    }

    private func change<Result>(
        _ edit: (inout [Int: [Grant]]) -> sending Result
    ) -> sending Result {
        grants.withLock { grants in
            defer {
                count.store(grants.values.reduce(0) { $0 + $1.count }, ordering: .relaxed)
            }
            return edit(&grants)
        }
    }

    /// Hashes a key with a number that is random in each process: neither the time of a look-up nor
    /// a choice of keys tells anything about the ones that exist.
    static func hash(_ key: Secret) -> Int {
        var hasher = Hasher()
        hasher.combine(key.reveal())
        return hasher.finalize()
    }

    /// What the key is worth at the channel.
    func standing(of key: Secret, at channel: String) -> Standing {
        grants.withLock { grants in
            guard let grant = grants[ClientKeys.hash(key)]?.first(where: { $0.key == key }) else {
                return .unknown
            }
            guard grant.channels?.contains(channel) ?? true else { return .elsewhere }
            return .lent(opens: grant.opened.contains(channel))
        }
    }
}
