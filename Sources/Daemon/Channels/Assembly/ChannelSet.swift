package import NetproxyConfig
import NetworkCore
package import OAuth

/// The channels in force, and the token managers left by earlier channels.
package struct ChannelSet: Sendable {
    /// The channels in the order of the configuration.
    package private(set) var channels: [ChannelRecord] = []
    private var retiring: [RetiringOAuthManager] = []

    package init() {}

    package var names: [String] { channels.map(\.name) }

    /// Returns the channel with a name.
    package subscript(name: String) -> ChannelRecord? {
        channels.first { $0.name == name }
    }

    /// The token engines of the credentials, without duplicates.
    private var engines: [Engine] { Engine.all(of: channels) }

    /// The token managers in force, without duplicates.
    package var managers: [OAuthManager] { engines.map(\.manager) }

    /// Returns the token managers of an identity, one for each requested set of scopes, or those of a
    /// channel.
    package func managers(of name: String) -> [OAuthManager] {
        let shared = engines.filter { $0.owner == .identity(name) }.map(\.manager)
        guard shared.isEmpty else { return shared }
        return self[name].map { Engine.all(of: [$0]).map(\.manager) } ?? []
    }

    /// Returns the token managers of an identity or channel, and all others that depend on the same sign-in.
    package func managersOfSignIn(of name: String) -> [OAuthManager] {
        let used = managers(of: name)
        let owners = engines.filter { engine in used.contains { $0 === engine.manager } }.map(
            \.owner
        )
        return engines.filter { owners.contains($0.owner) }.map(\.manager)
    }

    // MARK: - Replacing

    /// Returns the set after a reload, and the new token managers, which the caller must start.
    ///
    /// Each new manager has taken over from its predecessor. Call this only if nothing can fail afterwards: a
    /// refused reload must not touch the tokens.
    package func replaced(
        with next: [ChannelRecord]
    ) async -> (set: ChannelSet, started: [OAuthManager]) {
        let present = engines
        let wanted = Engine.all(of: next)
        let (old, new) = (Set(present.map(\.id)), Set(wanted.map(\.id)))
        // A manager that stays in force keeps its unsaved tokens.
        var leaving = Dictionary(
            grouping: present.filter { !new.contains($0.id) },
            by: \.owner.name
        )
        var managers: [OAuthManager] = []
        for engine in wanted where !old.contains(engine.id) && engine.isStarted {
            let name = engine.owner.name
            let other = predecessor(of: engine.manager, of: name, among: leaving[name] ?? [])
            if let other {
                leaving[name]?.removeAll { $0.manager === other }
                await engine.manager.takeOver(from: other)
            }
            managers.append(engine.manager)
        }
        var set = self
        set.channels = next
        set.retiring = await retired(by: new)
        return (set, managers)
    }

    /// Returns the manager that a new one takes over from.
    ///
    /// This is the present manager of that name. If that one has the tokens of another account, it is the
    /// last manager of that name with the same account and unsaved tokens.
    private func predecessor(
        of manager: OAuthManager,
        of name: String,
        among leaving: [Engine]
    ) -> OAuthManager? {
        let present = leaving.map(\.manager)
        if let same = present.first(where: { $0.hasTokens(of: manager) }) { return same }
        let earlier = retiring.last {
            $0.owner.name == name && $0.manager?.hasTokens(of: manager) == true
        }
        return earlier?.manager ?? present.first
    }

    /// Returns the managers that the next channels do not use.
    ///
    /// A renewal may be in progress, and unsaved tokens exist nowhere else.
    private func retired(
        by next: Set<ObjectIdentifier>
    ) async -> [RetiringOAuthManager] {
        var kept = retiring
        for old in engines where !next.contains(old.id) {
            kept.append(RetiringOAuthManager(old.manager, of: old.owner))
        }
        for index in kept.indices { await kept[index].releaseIfSaved() }
        return kept.filter { $0.manager != nil }
    }

    // MARK: - Ending

    /// Waits for renewals in progress, so that no rotated refresh token is lost.
    ///
    /// - Returns: the channels and identities whose newest refresh token could not be stored by then.
    package func finishRenewals(
        until end: ContinuousClock.Instant
    ) async -> [CredentialConfiguration.Owner] {
        let left = retiring.compactMap { retiring in
            retiring.manager.map { Engine(owner: retiring.owner, manager: $0, isStarted: true) }
        }
        return await withTaskGroup(of: CredentialConfiguration.Owner?.self) { group in
            for engine in engines + left {
                group.addTask {
                    await engine.manager.finishRenewal(until: end) ? nil : engine.owner
                }
            }
            return await group.reduce(into: []) { lost, owner in
                if let owner { lost.append(owner) }
            }
        }
    }
}

/// A token manager and the owner of its credential.
private struct Engine {
    let owner: CredentialConfiguration.Owner
    let manager: OAuthManager
    /// Whether the engine starts with the daemon; a helper program first runs for the first request.
    let isStarted: Bool

    var id: ObjectIdentifier { ObjectIdentifier(manager) }

    /// Returns the engines of the channels' credentials, without duplicates.
    static func all(of channels: [ChannelRecord]) -> [Engine] {
        var seen: Set<ObjectIdentifier> = []
        return channels.flatMap(\.accounts).compactMap { account in
            guard let manager = account.engine, seen.insert(ObjectIdentifier(manager)).inserted
            else { return nil }
            return Engine(
                owner: account.credential.owner,
                manager: manager,
                isStarted: account.authorizer is OAuthManager
            )
        }
    }
}

/// The token manager of a removed credential, or a manager replaced by a reload.
struct RetiringOAuthManager {
    let owner: CredentialConfiguration.Owner
    /// The manager; `nil` once all its work has ended.
    private(set) weak var manager: OAuthManager?
    /// Keeps the manager alive while its tokens are unsaved and exist nowhere else.
    private var unsaved: OAuthManager?

    init(_ manager: OAuthManager, of owner: CredentialConfiguration.Owner) {
        self.owner = owner
        self.manager = manager
        unsaved = manager
    }

    /// Releases the manager if its tokens are saved.
    mutating func releaseIfSaved() async {
        if await unsaved?.isSaved == true { unsaved = nil }
    }
}
