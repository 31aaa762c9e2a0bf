/// A credential that never changes: a bearer token, a user name with its password, or an API key.
///
/// A 401 to it is the app's to see: there is nothing to renew, so nothing is replayed.
public struct StaticAuthorizer: Authorizing {
    /// `bearer`, `basic` or `header`.
    public let kind: String
    private let credential: Credential

    private init?(kind: String, _ credential: Credential?) {
        guard let credential else { return nil }
        self.kind = kind
        self.credential = credential
    }

    /// `Authorization: Bearer …` (RFC 6750 §2.1); nothing if the token is unfit for a field.
    public static func bearer(_ token: Secret) -> StaticAuthorizer? {
        guard !token.isEmpty else { return nil }
        return StaticAuthorizer(
            kind: "bearer",
            Credential(.authorization, Secret("Bearer \(token.reveal())"))
        )
    }

    /// `Authorization: Basic …` in UTF-8 (RFC 7617 §2); nothing if the name holds a colon.
    public static func basic(username: String, password: Secret) -> StaticAuthorizer? {
        guard let field = HTTPField.basic(username: username, password: password)
        else { return nil }
        return StaticAuthorizer(kind: "basic", Credential(field.name, Secret(field.value)))
    }

    /// A field of its own, such as `X-Api-Key`; nothing if the value is unfit for a field.
    public static func header(_ name: HTTPFieldName, _ value: Secret) -> StaticAuthorizer? {
        StaticAuthorizer(kind: "header", Credential(name, value))
    }

    /// The field the credential stands in.
    public var fieldName: HTTPFieldName { credential.name }

    /// The credential.
    public func currentCredential() -> Credential? { credential }

    /// The credential.
    public func credential(until deadline: ContinuousClock.Instant?) -> Credential { credential }

    /// There is no other credential.
    public func rejected(_ rejection: Rejection) -> Verdict { .passThrough(.staticCredential) }
}
