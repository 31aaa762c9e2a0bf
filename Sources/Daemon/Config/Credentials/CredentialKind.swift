/// A kind of credential: its key in `auth`, the reader of its settings, its checks, its secrets and its
/// label.
///
/// A kind consists of one file in this folder and one line in ``CredentialKinds``.
protocol CredentialKind<Settings>: Sendable {
    associatedtype Settings

    /// The key in the `auth` of a channel and in an identity.
    var key: any DeclaredKey { get }

    /// Reads the settings; reports invalid ones.
    func read(_ section: Section<CredentialKeys>) -> Settings?
    /// Returns the credential with these settings.
    func authentication(_ settings: Settings) -> Authentication
    /// Returns the settings of a credential, or nil for another kind.
    func settings(of authentication: Authentication) -> Settings?

    /// Returns a short text that identifies the credential in `netproxy why`, without its secrets.
    func label(_ settings: Settings) -> String
    /// Returns the secrets of one line to read at the start.
    func secrets(_ settings: Settings) -> [SecretReference]
    /// Returns the keys of several lines to read at the start.
    func documents(_ settings: Settings) -> [SecretReference]
    /// Returns the header fields that the credential sets in addition to its own.
    func companionFields(_ settings: Settings) -> [CompanionField]

    /// Returns the place of the credential in a request, or nil if `placement` is invalid, which is reported.
    func place(_ settings: Settings, by placement: PlacementReader) -> CredentialPlacement?
    /// Checks the credential against the channel that uses it.
    func check(_ settings: Settings, in use: CredentialUse)
    /// Checks the credential against the TLS settings of its owner, in the slot `tls`.
    func check(_ settings: Settings, with configured: UpstreamTLS, at tls: Slot)
    /// Whether machines can share the tokens of the credential.
    var sharesTokens: Bool { get }
    /// Whether the credential signs the whole request, including its content.
    var signsRequests: Bool { get }
    /// Checks that an identity may have the credential.
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

/// A header field that a credential sets in addition to its own.
struct CompanionField {
    let name: String
    /// The key that makes the credential set the field.
    let key: String
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
