/// A kind of credential: its key in `auth`, the reader of its settings, its checks, its secrets and its label.
///
/// A kind is one file of this folder, and one line of ``CredentialKinds``.
protocol CredentialKind<Settings>: Sendable {
    associatedtype Settings

    /// The key in the `auth` of a channel and in an identity.
    var key: any DeclaredKey { get }

    /// Reads the settings; reports invalid ones.
    func read(_ section: Section<CredentialKeys>) -> Settings?
    /// The credential with these settings.
    func authentication(_ settings: Settings) -> Authentication
    /// The settings of a credential; nil if it is of another kind.
    func settings(of authentication: Authentication) -> Settings?

    /// The short text by which `netproxy why` names the credential, without its secrets.
    func label(_ settings: Settings) -> String
    /// The secrets of one line that are read at the start.
    func secrets(_ settings: Settings) -> [SecretReference]
    /// The keys of several lines that are read at the start.
    func documents(_ settings: Settings) -> [SecretReference]
    /// The header fields that the credential sets besides its own.
    func companionFields(_ settings: Settings) -> [CompanionField]

    /// The place of the credential in a request; nil if `placement` was invalid, which is reported.
    func place(_ settings: Settings, by placement: PlacementReader) -> CredentialPlacement?
    /// Checks the credential against the channel that uses it.
    func check(_ settings: Settings, in use: CredentialUse)
    /// Checks the credential against the TLS settings of its owner, which `tls` holds.
    func check(_ settings: Settings, with configured: UpstreamTLS, at tls: Slot)
    /// Whether machines can share the tokens of the credential.
    var sharesTokens: Bool { get }
    /// Whether the credential signs each request as a whole, with its content.
    var signsRequests: Bool { get }
    /// Checks that an identity can have the credential.
    func checkIdentity(_ settings: Settings, _ section: Section<CredentialKeys>)
}

extension CredentialKind {
    func documents(_: Settings) -> [SecretReference] { [] }
    func companionFields(_: Settings) -> [CompanionField] { [] }
    func place(_: Settings, by placement: PlacementReader) -> CredentialPlacement? {
        placement.placement()
    }
    func check(_: Settings, in _: CredentialUse) {}
    func check(_: Settings, with _: UpstreamTLS, at _: Slot) {}
    var sharesTokens: Bool { false }
    var signsRequests: Bool { false }
    func checkIdentity(_: Settings, _: Section<CredentialKeys>) {}
}

/// A header field that a credential sets besides its own.
struct CompanionField {
    let name: String
    /// The key that makes the credential set it.
    let key: String
}

/// A channel and one of its credentials, as far as the kinds check them together.
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

    /// The responses besides a 401 that count as refusals of the credential.
    enum Refusals {
        case none
        case byStatus
        case byContent
    }

    /// The slot for errors about a key of the credential's settings: that of the channel's own credential, or
    /// `auth`, which names the identity.
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
        read(section).map(authentication)
    }

    func matches(_ authentication: Authentication) -> Bool { settings(of: authentication) != nil }

    func label(of authentication: Authentication) -> String? {
        settings(of: authentication).map(label)
    }

    func secrets(of authentication: Authentication) -> [SecretReference] {
        settings(of: authentication).map(secrets) ?? []
    }

    func documents(of authentication: Authentication) -> [SecretReference] {
        settings(of: authentication).map(documents) ?? []
    }

    func companionFields(of authentication: Authentication) -> [CompanionField] {
        settings(of: authentication).map(companionFields) ?? []
    }

    func place(
        of authentication: Authentication,
        by placement: PlacementReader
    ) -> CredentialPlacement? {
        settings(of: authentication).flatMap { place($0, by: placement) }
    }

    func check(_ use: CredentialUse) {
        if let settings = settings(of: use.credential.authentication) { check(settings, in: use) }
    }

    func check(_ authentication: Authentication, with configured: UpstreamTLS, at tls: Slot) {
        if let settings = settings(of: authentication) {
            check(settings, with: configured, at: tls)
        }
    }

    func checkIdentity(of authentication: Authentication, _ section: Section<CredentialKeys>) {
        if let settings = settings(of: authentication) { checkIdentity(settings, section) }
    }
}
