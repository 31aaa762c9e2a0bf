/// Gives requests their credential and learns whether it was accepted.
///
/// Called by `AuthorizationInterceptor` and `ReauthorizationInterceptor`. Use `OAuthManager`,
/// `StaticAuthorizer` or an implementation of your own.
public protocol Authorizing: Sendable {
    /// The word in the log: `oauth`, `bearer`, `basic`, `header`, `exec`, `jwt`, `hmac` or `aws`.
    var kind: String { get }

    /// The header field that carries the credential.
    var fieldName: HTTPFieldName { get }

    /// Whether a credential can be obtained without a new sign-in, as far as is known now.
    var isSignedIn: Bool { get }

    /// The clock that the age of credentials is measured by.
    var clock: any NetworkClock { get }

    /// The current credential if it is good; does not wait, hop or allocate.
    func currentCredential() -> Credential?

    /// The current credential, or a new one if it is not good.
    ///
    /// - Parameter deadline: when the exchange must be over; nothing if it has no limit.
    /// - Returns: a credential that is good now.
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` (with `retryAfter`),
    ///   `.reauthorizationRequired`, `.httpResponseTimeout` at the deadline, or `.cancelled`.
    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential

    /// Learns, once per credential, that a request which carried it was not refused.
    ///
    /// Called on the request path, so it must not block.
    func accepted(_ credential: Credential)

    /// Judges a 401 to a request that carried the credential, and renews it if that may help.
    ///
    /// Returns when there is another credential, or when it is known that there will be none.
    func rejected(_ rejection: Rejection) async -> Verdict

    /// Returns an authorizer whose waits end at their deadline.
    ///
    /// Default: one that cancels them then. An authorizer that watches the time itself returns itself.
    func timed() -> any Authorizing
}

extension Authorizing {
    /// The credential needs no sign-in.
    public var isSignedIn: Bool { true }

    /// An authorizer that asks this one, and cancels its waits at their deadline.
    public func timed() -> any Authorizing { TimedAuthorizer(authorizer: self) }

    /// Does nothing.
    public func accepted(_ credential: Credential) {}

    /// The clocks of the machine.
    public var clock: any NetworkClock { SystemClock() }
}
