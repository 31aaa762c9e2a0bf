import Synchronization

/// Keeps the cookies of servers and sends them back to where they belong (RFC 6265); off unless a channel has
/// one.
///
///     channel.cookies = CookieJar()
///
/// In memory, and shared by the channels that have the same one. Each request of a call, redirects included,
/// gets the cookies for its URL, beside a `Cookie` field that the program has set. A cookie is for
/// its host or, with `Domain`, for the hosts below a name that is no single label; there is no list of
/// public suffixes. `SameSite` is for browsers and not looked at.
public final class CookieJar: Sendable {
    /// The most cookies of one host or domain; the oldest goes (RFC 6265 §6.1).
    public static let limitOfDomain = 50
    /// The most cookies in all; the oldest goes.
    public static let limit = 3000
    /// The longest name and value together, in bytes; a longer cookie is not kept.
    public static let longest = 4096

    private let cookies = Mutex<[Cookie]>([])
    private let clock: any NetworkClock

    /// Makes an empty jar.
    public init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
    }

    /// The number of cookies that have not expired.
    public var count: Int { cookies.withLock { $0.count { !$0.isExpired(at: clock.wallNow) } } }

    /// Removes every cookie.
    public func removeAll() {
        cookies.withLock { $0 = [] }
    }

    /// The value of a `Cookie` field for a request; `nil` if no cookie is for it.
    public func field(for request: Request) -> String? {
        let now = clock.wallNow
        let path = TargetPath(request.target).path
        let found = cookies.withLock { cookies in
            cookies.removeAll { $0.isExpired(at: now) }
            return cookies.filter { $0.isFor(request.origin, path) }
        }
        guard !found.isEmpty else { return nil }
        // The longest path first, then the oldest (RFC 6265 §5.4); the sort is stable.
        let sorted = found.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        return sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }

    /// Keeps the cookies in a response.
    public func store(_ headers: HTTPHeaders, from request: Request) {
        let fields = headers.values(of: .setCookie)
        guard !fields.isEmpty else { return }
        let now = clock.wallNow
        let new = fields.compactMap { Cookie($0, from: request, at: now) }
        cookies.withLock { cookies in
            for cookie in new { CookieJar.put(cookie, among: &cookies, now) }
        }
    }

    private static func put(_ cookie: Cookie, among cookies: inout [Cookie], _ now: UnixTime) {
        let index = cookies.firstIndex { $0.replaces(cookie) }
        if cookie.isExpired(at: now) {
            if let index { cookies.remove(at: index) }
            return
        }
        if let index {
            // It keeps the age of the one it replaces (RFC 6265 §5.3, step 11).
            cookies[index] = cookie
            return
        }
        cookies.removeAll { $0.isExpired(at: now) }
        if cookies.count(where: { $0.domain == cookie.domain }) >= limitOfDomain,
            let oldest = cookies.firstIndex(where: { $0.domain == cookie.domain })
        {
            cookies.remove(at: oldest)
        }
        if cookies.count >= limit { cookies.removeFirst() }
        cookies.append(cookie)
    }
}

/// Adds the cookies of a jar to each request, and keeps those of each response.
struct CookieInterceptor: RequestInterceptor {
    let jar: CookieJar

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        if let cookies = jar.field(for: request) {
            let own = request.headers[.cookie].map { "\($0); " } ?? ""
            request.headers.remove(HTTPFieldName.cookie)
            request.headers.append(HTTPField(checking: .cookie, own + cookies))
        }
        let response = try await next.send(request, context: &context)
        jar.store(response.headers, from: request)
        return response
    }
}
