/// A credential as it goes into a request.
public struct Credential: Sendable {
    /// The field that carries it.
    public let field: HTTPFieldName
    /// The field's value.
    public let value: Secret
    /// Which token of its family, if it is one.
    public let generation: Int?
    /// When it was issued, if that is known.
    public let issuedAt: ContinuousClock.Instant?
    /// Whether the value may stand in a field: looked at once, not for every request.
    let isFitForWire: Bool

    /// Makes a credential.
    public init(
        field: HTTPFieldName = .authorization,
        value: Secret,
        generation: Int? = nil,
        issuedAt: ContinuousClock.Instant? = nil
    ) {
        self.field = field
        self.value = value
        self.generation = generation
        self.issuedAt = issuedAt
        isFitForWire = Grammar.isFieldValue(value.reveal())
    }
}

/// What to do about a 401.
public enum RejectionVerdict: Sendable {
    /// There is a newer credential: send the request again, once.
    case replay
    /// Hand the 401 to the app, for this reason.
    case passThrough(String)
}

/// Knows the credential of a channel, and what to do when an origin rejects it.
public protocol Authorizing: Sendable {
    /// `oauth`, `bearer`, `basic`, `header` or `exec`: the word in the log.
    var kind: String { get }

    /// The credential for the next attempt; waits for one if there is none.
    ///
    /// - Throws: `NetworkError` of kind `credential_unavailable` or `reauthorization_required`.
    func credential() async throws -> Credential

    /// Judges a 401 to a request that carried the credential of `generation`, and gets a new one
    /// where that helps.
    func rejected(generation: Int?, challenges: [Challenge]) async -> RejectionVerdict

    /// The replay with this generation was rejected, too: do not refresh for it again so soon.
    func replayRejected(generation: Int?) async
}

/// A credential that does not change: a token, a password, a key.
public struct StaticAuthorizer: Authorizing {
    /// The word in the log.
    public let kind: String
    private let fixed: Credential

    private init(kind: String, _ credential: Credential) {
        self.kind = kind
        fixed = credential
    }

    /// `Authorization: Bearer TOKEN` (RFC 6750 §2.1).
    public static func bearer(_ token: Secret) -> StaticAuthorizer {
        StaticAuthorizer(
            kind: "bearer",
            Credential(value: Secret("Bearer \(token.reveal())"))
        )
    }

    /// `Authorization: Basic …` (RFC 7617).
    public static func basic(username: String, password: Secret) -> StaticAuthorizer {
        let pair = Base64.encode(Array("\(username):\(password.reveal())".utf8))
        return StaticAuthorizer(kind: "basic", Credential(value: Secret("Basic \(pair)")))
    }

    /// A field of the API's own.
    public static func header(_ name: HTTPFieldName, _ value: Secret) -> StaticAuthorizer {
        StaticAuthorizer(kind: "header", Credential(field: name, value: value))
    }

    /// Always the same.
    public func credential() async throws -> Credential { fixed }

    /// There is no other credential to try.
    public func rejected(generation: Int?, challenges: [Challenge]) async -> RejectionVerdict {
        .passThrough("static_credential")
    }

    /// Nothing to remember.
    public func replayRejected(generation: Int?) async {}
}
