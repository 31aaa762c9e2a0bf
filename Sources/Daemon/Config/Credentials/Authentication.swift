/// The settings of a channel's credential, of any kind, or none.
package struct Authentication: Sendable, Hashable {
    package let settings: (any CredentialSettings)?

    package static let none = Authentication(nil)

    package init(_ settings: (any CredentialSettings)?) {
        self.settings = settings
    }

    /// The settings, or nil for a credential of another kind.
    package func settings<Settings: CredentialSettings>(_: Settings.Type) -> Settings? {
        settings as? Settings
    }

    /// The short text that identifies the credential in `netproxy why`, without its secrets.
    package var label: String { settings?.label ?? "nothing" }

    private var value: AnyHashable? { settings.map { AnyHashable($0) } }

    package static func == (one: Authentication, other: Authentication) -> Bool {
        one.value == other.value
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// The settings of a credential of one kind.
package protocol CredentialSettings: Sendable, Hashable {
    /// A short text that identifies the credential in `netproxy why`, without its secrets.
    var label: String { get }
    /// The secrets of one line to read at the start.
    var secretReferences: [SecretReference] { get }
    /// The keys of several lines to read at the start.
    var documentReferences: [SecretReference] { get }
    /// The header fields that the credential sets in addition to its own.
    var companionFields: [CompanionField] { get }
    /// Whether netproxy knows the responses other than a 401 that refuse the credential.
    var knowsRefusals: Bool { get }
}

extension CredentialSettings {
    package var secretReferences: [SecretReference] { [] }
    package var documentReferences: [SecretReference] { [] }
    package var companionFields: [CompanionField] { [] }
    package var knowsRefusals: Bool { false }
}

/// A header field that a credential sets in addition to its own.
package struct CompanionField: Sendable {
    package let name: String
    /// The key that makes the credential set the field.
    let key: String
}
