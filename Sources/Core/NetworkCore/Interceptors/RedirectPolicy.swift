/// The policy for redirects (RFC 9110 §15.4).
///
/// A 303 is followed by a GET, or by a HEAD after a HEAD. 301, 302, 307 and 308 are followed by the same
/// method
/// with the same content. No other method becomes GET, because that would change the meaning of the request.
///
/// Three kinds of redirect are never followed: from https to http; to a URL that the call has already
/// requested,
/// unless the redirect sets a cookie; and to a URL that is neither http nor https or that contains user
/// information. A request beyond the first origin has neither the channel's credential nor the fields that
/// usually contain one, and a later redirect does not restore them.
///
/// A redirect that is not followed is returned as the response: `unacceptable_response` with its `Location`,
/// unless the success rule accepts it.
public struct RedirectPolicy: Sendable, Hashable {
    /// The maximum number of redirects in one call; 0 follows none.
    ///
    /// Default 5.
    public var limit: Int
    /// The methods that may follow a redirect.
    ///
    /// Default GET and HEAD. Content that can be read only once is never sent again.
    public var methods: Set<HTTPMethod>
    /// Whether a redirect to another origin is followed, without the credential.
    ///
    /// The `host` of a channel restricts the requests of the program, not the redirects of that host. Default
    /// `true`.
    public var crossesOrigins: Bool

    /// Creates a policy.
    public init(
        limit: Int = 5,
        methods: Set<HTTPMethod> = [.get, .head],
        crossesOrigins: Bool = true
    ) {
        self.limit = limit
        self.methods = methods
        self.crossesOrigins = crossesOrigins
    }

    /// Follows no redirect.
    public static let none = RedirectPolicy(limit: 0)
}
