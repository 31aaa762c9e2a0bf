/// The requirements for an authorizer of your own: the sign-in state and the fields of a signed request.
///
///     struct Session: HeaderAuthorizing {
///         var isSignedIn: Bool { true }
///         func authorize() async throws -> HTTPHeaders { HTTPHeaders([.bearer(token)]) }
///     }
///     channel.authorizer = HeaderAuthorizer(Session())
public protocol HeaderAuthorizing: Sendable {
    /// Whether a request can be signed without a new sign-in.
    var isSignedIn: Bool { get }

    /// Returns the field that signs a request; called for each attempt, and once more after a 401.
    func authorize() async throws -> HTTPHeaders
}

/// Signs requests with a field from a source, read again for each request.
public struct HeaderAuthorizer: Authorizing {
    /// `header`.
    public let kind = "header"
    /// The field that carries the credential.
    public let fieldName: HTTPFieldName
    private let source: any HeaderAuthorizing
    /// The identity of the source; `nil` for a value.
    var sourceIdentity: ObjectIdentifier? {
        type(of: source) is any AnyObject.Type ? ObjectIdentifier(source as AnyObject) : nil
    }

    /// Creates an authorizer that reads a source.
    ///
    /// - Parameters:
    ///   - source: the source of the field.
    ///   - fieldName: the name of the field. Default `Authorization`.
    public init(_ source: any HeaderAuthorizing, fieldName: HTTPFieldName = .authorization) {
        self.source = source
        self.fieldName = fieldName
    }

    /// Whether the source has a signed-in user.
    public var isSignedIn: Bool { source.isSignedIn }

    /// Always `nil`: the source is read for each request.
    public func currentCredential() -> Credential? { nil }

    /// Returns the credential from the source.
    ///
    /// - Throws: an error of the source; `reauthorization_required` if no user is signed in;
    ///   `credential_unavailable`
    ///   if the source returns another field, several fields, or an invalid one.
    public func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        guard source.isSignedIn else {
            throw NetworkError(
                .reauthorizationRequired,
                side: .proxy,
                retry: .safe,
                detail: "no user is signed in"
            )
        }
        let fields = Array(try await source.authorize())
        guard fields.count == 1, let field = fields.first, field.name == fieldName,
            !field.name.isUnfit, let credential = Credential(field.name, Secret(field.value))
        else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail:
                    "the authorizer gave \(fields.count) fields; expected one \(fieldName) that "
                    + "can be sent"
            )
        }
        return credential
    }

    /// Reads the source again and replays the request with the result.
    public func rejected(_ rejection: Rejection) async -> Verdict {
        guard case .replay = rejection.intent else { return .passThrough(.alreadyReplayed) }
        guard let credential = try? await credential(until: rejection.deadline) else {
            return .passThrough(.refreshFailed)
        }
        return .replayOnce(credential)
    }
}
