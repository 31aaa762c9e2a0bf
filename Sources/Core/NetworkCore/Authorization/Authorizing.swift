/// Provides the credential of a request and learns whether the server accepted it.
///
/// `AuthorizationInterceptor` and `ReauthorizationInterceptor` call it. Use `OAuthManager`,
/// `StaticAuthorizer` or
/// an implementation of your own.
public protocol Authorizing: Sendable {
    /// The kind of credential in the log, such as `oauth` or `bearer`.
    var kind: String { get }

    /// The header field that carries the credential.
    var fieldName: HTTPFieldName { get }

    /// Whether a credential can be obtained without a new sign-in, as far as is known now.
    var isSignedIn: Bool { get }

    /// The clock that measures the age of credentials.
    var clock: any NetworkClock { get }

    /// Returns the current credential if it is valid; does not wait, hop or allocate.
    func currentCredential() -> Credential?

    /// Returns the current credential, or a new one if the current one is not valid.
    ///
    /// - Parameter deadline: the deadline of the exchange; `nil` without a limit.
    /// - Returns: a valid credential.
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` (with `retryAfter`),
    ///   `.reauthorizationRequired`,
    ///   `.httpResponseTimeout` at the deadline, or `.cancelled`.
    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential

    /// Records, once per credential, that the server did not refuse a request with this credential.
    ///
    /// Called on the request path, so it must not block.
    func accepted(_ credential: Credential)

    /// Evaluates a 401 to a request with the credential, and renews the credential if that may help.
    ///
    /// Returns as soon as there is another credential, or as soon as it is certain that there will be none.
    func rejected(_ rejection: Rejection) async -> Verdict

    /// Returns an authorizer whose waits end at their deadline.
    ///
    /// By default, returns a wrapper that cancels them at the deadline. An authorizer that watches its own
    /// deadlines
    /// returns itself.
    func timed() -> any Authorizing
}

extension Authorizing {
    /// Always `true`: the credential needs no sign-in.
    public var isSignedIn: Bool { true }

    /// Returns an authorizer that calls this one and cancels its waits at their deadline.
    public func timed() -> any Authorizing { TimedAuthorizer(authorizer: self) }

    /// Does nothing.
    public func accepted(_ credential: Credential) {}

    /// The system clocks.
    public var clock: any NetworkClock { SystemClock() }
}
