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

extension CredentialConfiguration {
    /// The secrets of one line that the credential names.
    package var secretReferences: [SecretReference] {
        authentication.settings?.secretReferences ?? []
    }

    /// The keys of several lines that the credential names, without the tokens of a token exchange, which are
    /// read for each request.
    package var documentReferences: [SecretReference] {
        authentication.settings?.documentReferences ?? []
    }

    /// The header fields that the credential sets in addition to its own.
    package var companionFields: [CompanionField] {
        authentication.settings?.companionFields ?? []
    }
}
