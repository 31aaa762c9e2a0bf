package import NetproxyEventIO
package import NetworkCore
import Synchronization

/// The keys that the daemon lent to programs, in addition to the channels' `access.key`.
///
/// Shared by all loops; consulted only for requests with a key.
package final class ClientKeys: Sendable {
    /// A key and where it is valid.
    package struct Grant: Sendable {
        package let key: Secret
        /// Names it in logs; tells nothing about the key.
        package let id: String
        /// Who could ask for it.
        let borrower: Borrower
        /// Who did.
        package let peer: SocketPeer
        /// The channels that it was lent for; `nil` for all of them.
        package let channels: Set<String>?
        /// The identity that it is for, where a channel has several; `nil` for any.
        let identity: String?
        /// The channels that had it when the key was lent: they give the key no other one.
        let identityChannels: Set<String>
        /// Those of them that it opens if they require a key.
        let opened: Set<String>
        /// Never yields; finishes when the key is revoked.
        package let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    /// Who can ask for a key.
    package enum Borrower: Sendable {
        /// Users that the admin socket's permissions admit.
        case permitted
        /// Every user of the machine, over TCP.
        case anyone
    }

    /// What happens to a key.
    package enum Change: Sendable {
        case lent, ended
    }

    /// What a key is worth at a channel.
    enum Standing: Sendable {
        /// It was not lent by this daemon.
        case unknown
        /// It was lent for other channels.
        case elsewhere
        /// It was lent for this one.
        case lent(LentKey, opens: Bool)
    }

    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    /// How many bytes a key has.
    static let length = 32
    /// How many keys may be lent over TCP at a time, where every user of the machine can ask.
    package static let limitOverTCP = 16

    /// Called once for each key when it is lent, and once when it ends.
    private let onChange: @Sendable (Grant, Change) -> Void
    /// By the hashes of the keys.
    private let grants = Mutex<[Int: [Grant]]>([:])
    /// How many there are, so that a request without one takes no lock.
    private let count = Atomic<Int>(0)

    package init(onChange: @escaping @Sendable (Grant, Change) -> Void = { _, _ in }) {
        self.onChange = onChange
    }

    /// Whether any key is valid at present.
    var isAnyOut: Bool { count.load(ordering: .relaxed) > 0 }

    /// Makes a key that is valid until it is revoked: 32 letters and digits, about 190 random bits.
    ///
    /// - Parameters:
    ///   - channels: what it is for; `nil` for all channels.
    ///   - identity: which one it is for, where a channel has several.
    ///   - identityChannels: the channels that have it.
    ///   - opened: those of them that it opens if they require a key.
    ///   - borrower: who could ask for it.
    ///   - peer: who did.
    /// - Returns: the key, with the stream that ends with it.
    package func issue(
        for channels: Set<String>?,
        as identity: String? = nil,
        of identityChannels: Set<String> = [],
        opening opened: Set<String>,
        to borrower: Borrower = .permitted,
        _ peer: SocketPeer
    ) -> Grant {
        let (life, end) = AsyncStream.makeStream(of: Never.self)
        let grant = Grant(
            key: Secret(ClientKeys.randomText(ClientKeys.length)),
            // Short enough for a string without an allocation.
            id: ClientKeys.randomText(12),
            borrower: borrower,
            peer: peer,
            channels: channels,
            identity: identity,
            identityChannels: identityChannels,
            opened: opened,
            life: life,
            end: end
        )
        change { $0[ClientKeys.hash(grant.key), default: []].append(grant) }
        onChange(grant, .lent)
        return grant
    }

    /// Makes a key that nobody has.
    package static func makeUnknown() -> Secret { Secret(randomText(length)) }

    private static func randomText(_ length: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<length).map { _ in
            digits[Int.random(in: 0..<digits.count, using: &generator)]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// How many keys are lent over TCP.
    package var countOverTCP: Int {
        grants.withLock { $0.values.reduce(0) { $0 + $1.count { $0.borrower == .anyone } } }
    }

    /// Revokes a key; harmless if it is revoked already.
    package func revoke(_ grant: Grant) {
        let wasValid = change { grants in
            let hash = ClientKeys.hash(grant.key)
            let present = grants[hash] ?? []
            let others = present.filter { $0.key != grant.key }
            grants[hash] = others.isEmpty ? nil : others
            return others.count < present.count
        }
        grant.end.finish()
        if wasValid { onChange(grant, .ended) }
    }

    /// Revokes all keys, at a shutdown.
    package func revokeAll() {
        let all = change { grants in
            defer { grants = [:] }
            return grants.values.flatMap { $0 }
        }
        for grant in all {
            grant.end.finish()
            onChange(grant, .ended)
        }
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

    /// A key, whatever it was lent for; `nil` if it was not lent.
    func lent(_ key: Secret) -> LentKey? {
        grants.withLock { ClientKeys.grant(of: key, in: $0).map { LentKey($0, at: nil) } }
    }

    /// What the key is worth at the channel.
    func standing(of key: Secret, at channel: String) -> Standing {
        grants.withLock { grants in
            guard let grant = ClientKeys.grant(of: key, in: grants) else { return .unknown }
            guard grant.channels?.contains(channel) ?? true else { return .elsewhere }
            return .lent(LentKey(grant, at: channel), opens: grant.opened.contains(channel))
        }
    }

    private static func grant(of key: Secret, in grants: [Int: [Grant]]) -> Grant? {
        grants[hash(key)]?.first { $0.key == key }
    }
}

/// A lent key that came with a request, and what it stands for.
///
/// An object, since few requests have one: the others copy nothing for it.
final class LentKey: Sendable {
    /// Names it in logs.
    let id: String
    /// The identity that it is for; `nil` if it is for any.
    let identity: String?
    /// Whether the channel had that identity when the key was lent: then it gets no other one.
    let isPromised: Bool
    /// The user who asked for it, as far as is known.
    let userID: UInt32?

    init(id: String, identity: String?, isPromised: Bool, userID: UInt32?) {
        (self.id, self.identity) = (id, identity)
        (self.isPromised, self.userID) = (isPromised, userID)
    }

    fileprivate convenience init(_ grant: ClientKeys.Grant, at channel: String?) {
        self.init(
            id: grant.id,
            identity: grant.identity,
            isPromised: channel.map(grant.identityChannels.contains) ?? false,
            userID: grant.peer.userID
        )
    }
}
