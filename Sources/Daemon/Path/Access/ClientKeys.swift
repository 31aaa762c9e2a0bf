package import NetproxyEventIO
package import NetworkCore
import Synchronization

/// The keys lent to programs, in addition to the channels' `access.key`.
///
/// All loops share them and read them only for requests with a key.
package final class ClientKeys: Sendable {
    /// A lent key and its validity.
    package struct Grant: Sendable {
        package let key: Secret
        /// The other texts that count as the key.
        let shaped: [Secret]
        /// The key's name in logs, which reveals nothing about the key.
        package let id: String
        /// The group of users who could request the key.
        let borrower: Borrower
        /// The peer that requested the key.
        package let peer: SocketPeer
        /// The channels for which the key was lent; `nil` for all of them.
        package let channels: Set<String>?
        /// The identity of the key, for channels with several; `nil` for any.
        let identity: String?
        /// The channels that had the identity when the key was lent: there the key selects no other one.
        let identityChannels: Set<String>
        /// The channels that the key opens if they require a key.
        let opened: Set<String>
        /// A stream without elements that finishes when the key is revoked.
        package let life: AsyncStream<Never>
        fileprivate let end: AsyncStream<Never>.Continuation
    }

    /// A group of users who can request a key.
    package enum Borrower: Sendable {
        /// Users that the admin socket's permissions admit.
        case permitted
        /// Every user of the machine, over TCP.
        case anyone
    }

    /// A change of a key's state.
    package enum Change: Sendable {
        case lent, ended
    }

    /// The standing of a key at a channel.
    enum Standing: Sendable {
        /// This daemon did not lend the key.
        case unknown
        /// The key was lent for other channels.
        case elsewhere
        /// The key was lent for this channel.
        case lent(LentKey, opens: Bool)
    }

    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    /// The length of a key in bytes.
    static let length = 32
    /// The length of the shortest text that counts as a key.
    static let shortest = 20
    /// The largest number of keys lent over TCP at a time; every user of the machine can request one
    /// there.
    package static let limitOverTCP = 16

    /// Called once for each key when it is lent, and once when it ends.
    private let onChange: @Sendable (Grant, Change) -> Void
    /// The grants by the hashes of their keys.
    private let grants = Mutex<[Int: [Grant]]>([:])
    /// The lengths of the keys modulo 64, one bit each; a request costs no lock while it is zero.
    private let lengths = Atomic<UInt64>(0)

    package init(onChange: @escaping @Sendable (Grant, Change) -> Void = { _, _ in }) {
        self.onChange = onChange
    }

    /// Whether any lent key is valid now.
    var isAnyOut: Bool { lengths.load(ordering: .relaxed) != 0 }

    /// Whether a text of this many bytes may be a lent key.
    func mayBeKey(length: Int) -> Bool {
        length >= ClientKeys.shortest
            && lengths.load(ordering: .relaxed) & (1 << UInt64(length & 63)) != 0
    }

    /// Lends a key that is valid until it is revoked: 32 letters and digits, about 190 random bits.
    ///
    /// - Parameters:
    ///   - shaped: other random texts that count as the key, for clients that check the format of a key.
    ///   - channels: the channels of the key; `nil` for all of them.
    ///   - identity: the identity of the key, for channels with several.
    ///   - identityChannels: the channels that have the identity.
    ///   - opened: the channels that the key opens if they require a key.
    ///   - borrower: the group of users who could request the key.
    ///   - peer: the peer that requested it.
    /// - Returns: the key, with the stream that ends when it is revoked.
    package func issue(
        _ shaped: [Secret] = [],
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
            shaped: shaped,
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
        change { grants in
            for text in grant.texts { grants[ClientKeys.hash(text), default: []].append(grant) }
        }
        onChange(grant, .lent)
        return grant
    }

    /// Returns a key that is never lent.
    package static func makeUnknown() -> Secret { Secret(randomText(length)) }

    /// Returns random letters and digits.
    package static func randomText(_ length: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let text = (0..<length).map { _ in
            digits[Int.random(in: 0..<digits.count, using: &generator)]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The number of keys lent over TCP.
    package var countOverTCP: Int {
        grants.withLock { grants in
            Set(grants.values.joined().lazy.filter { $0.borrower == .anyone }.map(\.id)).count
        }
    }

    /// Revokes a key; does nothing if it is revoked already.
    package func revoke(_ grant: Grant) {
        let wasValid = change { grants in
            var wasValid = false
            for text in grant.texts {
                let hash = ClientKeys.hash(text)
                let present = grants[hash] ?? []
                let others = present.filter { $0.id != grant.id }
                grants[hash] = others.isEmpty ? nil : others
                if others.count < present.count { wasValid = true }
            }
            return wasValid
        }
        grant.end.finish()
        if wasValid { onChange(grant, .ended) }
    }

    /// Revokes all keys at a shutdown.
    package func revokeAll() {
        let all = change { grants in
            defer { grants = [:] }
            let all = grants.values.joined().map { ($0.id, $0) }
            return Array(Dictionary(all) { first, _ in first }.values)
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
                let texts = grants.values.joined().flatMap(\.texts)
                let bits: UInt64 = texts.reduce(0) { bits, text in
                    bits | 1 << UInt64(text.reveal().utf8.count & 63)
                }
                lengths.store(bits, ordering: .relaxed)
            }
            return edit(&grants)
        }
    }

    /// Hashes a key with a seed that is random in each process.
    ///
    /// Neither the time of a lookup nor a series of guesses reveals anything about the existing keys.
    static func hash(_ key: Secret) -> Int {
        var hasher = Hasher()
        hasher.combine(key.reveal())
        return hasher.finalize()
    }

    /// Returns the lent key for any channel; `nil` if the key was not lent.
    func lent(_ key: Secret) -> LentKey? {
        grants.withLock { ClientKeys.grant(of: key, in: $0).map { LentKey($0, at: nil) } }
    }

    /// Returns the standing of a key at a channel.
    func standing(of key: Secret, at channel: String) -> Standing {
        grants.withLock { grants in
            guard let grant = ClientKeys.grant(of: key, in: grants) else { return .unknown }
            guard grant.channels?.contains(channel) ?? true else { return .elsewhere }
            return .lent(LentKey(grant, at: channel), opens: grant.opened.contains(channel))
        }
    }

    private static func grant(of key: Secret, in grants: [Int: [Grant]]) -> Grant? {
        grants[hash(key)]?.first { $0.key == key || $0.shaped.contains(key) }
    }
}

extension ClientKeys.Grant {
    /// All texts that count as the key.
    fileprivate var texts: [Secret] { [key] + shaped }
}

/// A lent key in a request.
///
/// A class, since few requests have one and the others copy only a null reference.
final class LentKey: Sendable {
    /// The key's name in logs.
    let id: String
    /// The identity of the key; `nil` for any.
    let identity: String?
    /// Whether the channel had the identity when the key was lent; if so, the key selects no other one.
    let isPromised: Bool
    /// The user who requested the key, if known.
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
