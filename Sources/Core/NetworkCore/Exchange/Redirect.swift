/// A redirect that a call met.
public struct Redirect: Sendable, Hashable {
    /// The status of the redirect.
    public let status: HTTPStatus
    /// The URL that it came from.
    public let source: String
    /// Its `Location`; resolved to a URL if it was followed.
    public let location: String
    /// Why it was not followed, as a clause; `nil` if it was.
    public let refusal: String?
}
