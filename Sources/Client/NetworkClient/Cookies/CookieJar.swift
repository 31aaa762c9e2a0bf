public import FoundationEssentials
import Synchronization

/// Stores the cookies of servers and returns them in later requests (RFC 6265); off by default.
///
///     channel.cookies = CookieJar()
///
/// The jar is in memory, and channels can share it; `encoded()` saves it. Each request of a call, including redirects, gets the
/// cookies
/// for its URL, in addition to a `Cookie` field of the program. A cookie belongs to its host or, with
/// `Domain`, to
/// the hosts below a name of more than one label; there is no list of public suffixes. The jar ignores
/// `SameSite`,
/// which is for browsers.
public final class CookieJar: Sendable {
    /// The maximum number of cookies of one host or domain; beyond it, the oldest is removed (RFC 6265 §6.1).
    public static let limitOfDomain = 50
    /// The maximum number of cookies; beyond it, the oldest is removed.
    public static let limit = 3000
    /// The maximum length of name and value together, in bytes; a longer cookie is not stored.
    public static let longest = 4096

    private let cookies = Mutex<[Cookie]>([])
    private let clock: any NetworkClock

    /// Creates an empty jar.
    public init(clock: any NetworkClock = SystemClock()) {
        self.clock = clock
    }

    /// Restores a jar from the result of `encoded()`, without the cookies that have expired since.
    ///
    /// - Throws: `DecodingError` for other data.
    public init(decoding data: Data, clock: any NetworkClock = SystemClock()) throws {
        self.clock = clock
        let now = clock.wallNow
        let saved = try JSONDecoder().decode([Cookie.Saved].self, from: data)
        let restored = saved.compactMap { Cookie($0) }
        cookies.withLock { cookies in
            for cookie in restored { CookieJar.put(cookie, among: &cookies, now) }
        }
    }

    /// Returns the cookies that have not expired, for a file or a database.
    ///
    /// The data is secret: cookies are often credentials. It includes cookies without an expiry, which
    /// browsers drop when they are closed.
    public func encoded() throws -> Data {
        let now = clock.wallNow
        let saved = cookies.withLock { $0.filter { !$0.isExpired(at: now) }.map(\.saved) }
        return try JSONEncoder().encode(saved)
    }

    /// The number of cookies that have not expired.
    public var count: Int { cookies.withLock { $0.count { !$0.isExpired(at: clock.wallNow) } } }

    /// Removes every cookie.
    public func removeAll() {
        cookies.withLock { $0 = [] }
    }

    /// Returns the value of the `Cookie` field for a request; `nil` if no cookie matches it.
    public func field(for request: Request) -> String? {
        let now = clock.wallNow
        let path = TargetPath(request.target).path
        let found = cookies.withLock { cookies in
            cookies.removeAll { $0.isExpired(at: now) }
            return cookies.filter { $0.isFor(request.origin, path) }
        }
        guard !found.isEmpty else { return nil }
        // Longest path first, then oldest first (RFC 6265 §5.4); the sort is stable.
        let sorted = found.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        return sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }

    /// Stores the cookies of a response.
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
            // The cookie keeps the age of the one it replaces (RFC 6265 §5.3, step 11).
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

/// Adds the cookies of a jar to each request, and stores those of each response.
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
