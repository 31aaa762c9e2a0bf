/// The registry of credential kinds, with one line for each.
enum CredentialKinds {
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
    static let names = keys.map(\.name)

    /// Returns the kind of a credential, or nil without a credential.
    static func kind(of authentication: Authentication) -> (any CredentialKind)? {
        all.first { $0.matches(authentication) }
    }
}

extension Authentication {
    /// The short text that identifies the credential in `netproxy why`, without its secrets.
    package var label: String {
        CredentialKinds.kind(of: self)?.label(of: self) ?? "nothing"
    }
}

extension CredentialConfiguration {
    /// The secrets of one line that the credential names.
    package var secretReferences: [SecretReference] {
        CredentialKinds.kind(of: authentication)?.secrets(of: authentication) ?? []
    }

    /// The keys of several lines that the credential names, without the tokens of a token exchange, which are
    /// read for each request.
    package var documentReferences: [SecretReference] {
        CredentialKinds.kind(of: authentication)?.documents(of: authentication) ?? []
    }

    /// Whether the credential signs the whole request, including its content.
    package var signsRequests: Bool {
        CredentialKinds.kind(of: authentication)?.signsRequests ?? false
    }

    /// The header fields that the credential sets in addition to its own.
    var companionFields: [CompanionField] {
        CredentialKinds.kind(of: authentication)?.companionFields(of: authentication) ?? []
    }
}
