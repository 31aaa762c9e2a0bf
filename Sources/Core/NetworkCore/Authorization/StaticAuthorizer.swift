/// A credential that never changes: a bearer token, a user name with its password, or an API key.
///
/// A 401 is returned to the client without a replay, because the credential cannot be renewed.
public struct StaticAuthorizer: Authorizing {
    /// `bearer`, `basic`, `header`, or the kind of a signer.
    public let kind: String
    private let credential: Credential

    private init(kind: String, _ credential: Credential?) throws(NetworkError) {
        guard let credential else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: "the \(kind) credential is unfit for a header field: it is empty, or has "
                    + "control bytes or outer blanks, such as the newline at the end of a file"
            )
        }
        self.kind = kind
        self.credential = credential
    }

    /// Returns an authorizer for `Authorization: Bearer …` (RFC 6750 §2.1).
    ///
    /// - Throws: `credential_unavailable` if the token is not valid in a field.
    public static func bearer(_ token: Secret) throws(NetworkError) -> StaticAuthorizer {
        let value = token.isEmpty ? token : Secret("Bearer \(token.reveal())")
        return try StaticAuthorizer(kind: "bearer", Credential(.authorization, value))
    }

    /// Returns an authorizer for `Authorization: Basic …` in UTF-8 (RFC 7617 §2).
    ///
    /// - Throws: `credential_unavailable` if the name contains a colon, or if either contains a control
    ///   character.
    public static func basic(
        username: String,
        password: Secret
    ) throws(NetworkError) -> StaticAuthorizer {
        let field = HTTPField.basic(username: username, password: password)
        guard !field.name.isUnfit else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: "the user name of a Basic credential has a colon, or it or the password "
                    + "control characters, such as the newline at the end of a file"
            )
        }
        return try StaticAuthorizer(
            kind: "basic",
            Credential(field.name, Secret(field.value))
        )
    }

    /// Returns an authorizer for a custom field, such as `X-Api-Key`.
    ///
    /// - Throws: `credential_unavailable` if the value is not valid in a field.
    public static func header(
        _ name: HTTPFieldName,
        _ value: Secret
    ) throws(NetworkError) -> StaticAuthorizer {
        try StaticAuthorizer(kind: "header", Credential(name, value))
    }

    /// Creates an authorizer that signs each request as a whole.
    ///
    /// - Parameters:
    ///   - kind: the kind of credential in the log.
    ///   - signer: the signer.
    ///   - name: the field that carries the signature, if it is in a field.
    ///   - key: the signing key.
    package init(
        kind: String,
        signing signer: any RequestSigning,
        named name: HTTPFieldName?,
        key: Secret
    ) {
        self.kind = kind
        credential = Credential(
            signing: signer,
            named: name ?? .authorization,
            secrets: [key],
            generation: nil,
            issuedAt: nil
        )
    }

    /// The header field that carries the credential.
    public var fieldName: HTTPFieldName { credential.name }
    /// Returns itself, because it never waits.
    public func timed() -> any Authorizing { self }

    /// Returns the credential.
    public func currentCredential() -> Credential? { credential }

    /// Returns the credential.
    public func credential(until deadline: ContinuousClock.Instant?) -> Credential { credential }

    /// Returns `.passThrough`, because there is no other credential.
    public func rejected(_ rejection: Rejection) -> Verdict { .passThrough(.staticCredential) }
}
