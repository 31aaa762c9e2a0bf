import NetproxySettings

/// A kind of credential: its key in `auth`, the reader of its settings, and its checks.
///
/// A kind consists of one file in this folder and one line in ``CredentialKinds``. At run time, its settings
/// are a `CredentialProviding`.
protocol CredentialKind<Settings>: Sendable {
    associatedtype Settings: CredentialSettings

    /// The key in the `auth` of a channel and in an identity.
    var key: any DeclaredKey { get }

    /// Reads the settings; reports invalid ones.
    func read(_ section: Section<CredentialKeys>) -> Settings?

    /// Returns the place of the credential in a request, or nil if `placement` is invalid, which is reported.
    func place(_ settings: Settings, by placement: PlacementReader) -> CredentialPlacement?
    /// Checks the credential against the channel that uses it.
    func check(_ settings: Settings, in use: CredentialUse)
    /// Checks the credential against the TLS settings of its owner, in the slot `tls`.
    func check(_ settings: Settings, with configured: TLSDemands, at tls: Slot)
    /// Whether machines can share the tokens of the credential.
    var sharesTokens: Bool { get }
    /// Checks that an identity may have the credential.
    func checkIdentity(_ settings: Settings, _ section: Section<CredentialKeys>)
    /// The notation of the credential in a command for curl.
    var notation: CredentialNotation { get }
}

extension CredentialKind {
    func place(_: Settings, by placement: PlacementReader) -> CredentialPlacement? {
        placement.placement()
    }
    func check(_: Settings, in _: CredentialUse) {}
    func check(_: Settings, with _: TLSDemands, at _: Slot) {}
    var sharesTokens: Bool { false }
    func checkIdentity(_: Settings, _: Section<CredentialKeys>) {}
    var notation: CredentialNotation { .token }
}

/// A channel and one of its credentials, for the checks that concern both.
struct CredentialUse {
    let credential: CredentialConfiguration
    /// The channel's own `auth`, without keys if the credential belongs to an identity.
    let section: Section<CredentialKeys>
    let placement: CredentialPlacement?
    let upstreams: [UpstreamURL]
    let host: SentHost
    let refusals: Refusals
    /// The slots of the channel.
    let upstream, hostSlot, auth, stub, refusalStatus: Slot

    /// The responses other than a 401 that count as refusals of the credential.
    enum Refusals {
        case none
        case byStatus
        case byContent
    }

    /// Returns the slot for errors about a key of the credential's settings.
    ///
    /// It is the slot of the channel's own credential, or `auth`, which names the identity.
    func slot<Keys: SectionKeys, Value>(
        _ key: KeyPath<Keys, Key<Value>>,
        of settings: Key<Section<Keys>>
    ) -> Slot {
        credential.identity == nil ? section[settings][dynamicMember: key] : auth
    }
}

// The same functions for a credential of any kind.
extension CredentialKind {
    func credential(in section: Section<CredentialKeys>) -> Authentication? {
        read(section).map { Authentication($0) }
    }

    func matches(_ authentication: Authentication) -> Bool { authentication.settings is Settings }

    func place(
        of authentication: Authentication,
        by placement: PlacementReader
    ) -> CredentialPlacement? {
        authentication.settings(Settings.self).flatMap { place($0, by: placement) }
    }

    func check(_ use: CredentialUse) {
        if let settings = use.credential.authentication.settings(Settings.self) {
            check(settings, in: use)
        }
    }

    func check(_ authentication: Authentication, with configured: TLSDemands, at tls: Slot) {
        if let settings = authentication.settings(Settings.self) {
            check(settings, with: configured, at: tls)
        }
    }

    func checkIdentity(of authentication: Authentication, _ section: Section<CredentialKeys>) {
        if let settings = authentication.settings(Settings.self) {
            checkIdentity(settings, section)
        }
    }
}
