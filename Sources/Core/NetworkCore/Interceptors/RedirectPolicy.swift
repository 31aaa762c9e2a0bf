/// The redirects that are followed (RFC 9110 §15.4).
///
/// 303 is followed by a GET, or a HEAD after a HEAD; 301, 302, 307 and 308 by the same method with the same
/// content. No other method becomes GET: the request would do something else than was asked for.
///
/// Never followed are a redirect from https to http, one to a URL that was asked already, unless the
/// redirect sets a cookie, and one that names no http or https URL or brings user information. Beyond
/// the first origin a request has neither the channel's credential nor fields that usually hold one,
/// and gets them for no later redirect either.
///
/// A redirect that is not followed is returned as the response: `unacceptable_response` with its `Location`,
/// unless the rule for success accepts it.
public struct RedirectPolicy: Sendable, Hashable {
    /// The maximum number of redirects in one call; 0 follows none.
    ///
    /// Default 5.
    public var limit: Int
    /// The methods that a redirect may be followed by.
    ///
    /// Default GET and HEAD. A content that can be read only once is not sent again in any case.
    public var methods: Set<HTTPMethod>
    /// Whether a redirect may lead to another origin, without the credential; a channel's `host` binds
    /// what the program asks for, not where that host sends it.
    ///
    /// Default yes.
    public var crossesOrigins: Bool

    /// Makes a policy.
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
