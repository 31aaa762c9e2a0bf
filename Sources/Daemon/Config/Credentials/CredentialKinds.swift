package import NetproxySettings

/// The registry of credential kinds, with one line for each.
package enum CredentialKinds {
    static let all: [any CredentialKind] = [
        BearerKind(),
        BasicKind(),
        HeaderKind(),
        ExecKind(),
        AWSKind(),
        JWTKind(),
        HMACKind(),
        OAuthKind(),
    ]

    static let keys: [any DeclaredKey] = all.map(\.key)

    /// The keys of the kinds, in the order of error messages.
    package static let names = keys.map(\.name)

    /// The notations of the kinds, by their keys, which are also their words in the log.
    package static let notations: [String: CredentialNotation] = Dictionary(
        uniqueKeysWithValues: all.map { ($0.key.name, $0.notation) }
    )

    /// Returns the kind of a credential, or nil without a credential.
    static func kind(of authentication: Authentication) -> (any CredentialKind)? {
        all.first { $0.matches(authentication) }
    }
}

extension Authentication {
    /// The key of the kind in `auth`, which is also its word in the log; nil without a credential.
    package var kind: String? { CredentialKinds.kind(of: self)?.key.name }
}
