/// What says whether a user is signed in, and gives the fields of a signed request: all that an authorizer
/// of your own has to be.
///
///     struct Session: HeaderAuthorizing {
///         var isSignedIn: Bool { true }
///         func authorize() async throws -> HTTPHeaders { HTTPHeaders([.bearer(token)]) }
///     }
///     channel.authorizer = HeaderAuthorizer(Session())
public protocol HeaderAuthorizing: Sendable {
    /// Whether a request can be signed without a new sign-in.
    var isSignedIn: Bool { get }

    /// The field that signs a request; asked for each attempt, and once more after a 401.
    func authorize() async throws -> HTTPHeaders
}

/// Signs requests with the field that something gives for each of them.
public struct HeaderAuthorizer: Authorizing {
    /// `header`.
    public let kind = "header"
    /// The field that carries the credential.
    public let fieldName: HTTPFieldName
    private let source: any HeaderAuthorizing

    /// Asks a source.
    ///
    /// - Parameters:
    ///   - source: gives the field.
    ///   - fieldName: the name of the field. Default `Authorization`.
    public init(_ source: any HeaderAuthorizing, fieldName: HTTPFieldName = .authorization) {
        self.source = source
        self.fieldName = fieldName
    }

    /// Whether the source has a signed-in user.
    public var isSignedIn: Bool { source.isSignedIn }

    /// None: the source is asked each time.
    public func currentCredential() -> Credential? { nil }

    /// Returns the credential from the source.
    ///
    /// - Throws: what the source throws; `reauthorization_required` if no user is signed in, and
    ///   `credential_unavailable` if it gives another field, several, or one that is unfit.
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

    /// Asks the source again, and has the request sent again with what it gives.
    public func rejected(_ rejection: Rejection) async -> Verdict {
        guard case .replay = rejection.intent else { return .passThrough(.alreadyReplayed) }
        guard let credential = try? await credential(until: rejection.deadline) else {
            return .passThrough(.refreshFailed)
        }
        return .replayOnce(credential)
    }
}
