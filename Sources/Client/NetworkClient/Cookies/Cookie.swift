import NetproxyBytes

/// A stored cookie (RFC 6265 §5.3).
struct Cookie {
    let name: String
    let value: String
    /// The host that set the cookie, or the domain whose hosts receive it.
    let domain: String
    let isHostOnly: Bool
    let path: String
    let isSecure: Bool
    /// The time of expiry; `nil` keeps the cookie as long as the jar exists.
    let expiry: UnixTime?

    /// Parses a `Set-Cookie` field; returns `nil` if the cookie is not stored.
    init?(_ field: String, from request: Request, at now: UnixTime) {
        var parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let pair = parts.removeFirst()
        guard let sign = pair.firstIndex(of: "=") else { return nil }
        name = Cookie.trimmed(pair[..<sign])
        value = Cookie.trimmed(pair[pair.index(after: sign)...])
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= CookieJar.longest,
            Grammar.isFieldValue("\(name)=\(value)")
        else { return nil }
        var (domain, path, isSecure) = (nil as String?, nil as String?, false)
        var (lifetime, date) = (nil as Double?, nil as UnixTime?)
        for part in parts {
            let sign = part.firstIndex(of: "=") ?? part.endIndex
            let text = Cookie.trimmed(part[sign...].dropFirst())
            // The last of several equal attributes counts.
            switch Cookie.trimmed(part[..<sign]).lowercased() {
            case "domain": domain = text.isEmpty ? domain : text.lowercased()
            case "path": path = text.hasPrefix("/") ? text : nil
            case "secure": isSecure = true
            case "max-age": lifetime = Cookie.seconds(text) ?? lifetime
            case "expires": date = CookieDate.parse(text) ?? date
            default: continue
            }
        }
        let host = request.origin.host
        guard request.origin.isProtected || !isSecure else { return nil }
        if let named = domain.map({ $0.hasPrefix(".") ? String($0.dropFirst()) : $0 }),
            named != host
        {
            guard named.contains("."), Cookie.isHost(host, below: named) else { return nil }
            (self.domain, isHostOnly) = (named, false)
        } else {
            (self.domain, isHostOnly) = (host, domain == nil)
        }
        self.path = path ?? Cookie.defaultPath(of: TargetPath(request.target).path)
        self.isSecure = isSecure
        expiry = lifetime.map { UnixTime(secondsSinceEpoch: now.secondsSinceEpoch + $0) } ?? date
        guard hasRights(from: request.origin) else { return nil }
    }

    /// Whether an origin may set a cookie with this prefix in its name (RFC 6265bis §4.1.3).
    private func hasRights(from origin: Origin) -> Bool {
        let name = name.lowercased()
        let isHostCookie = name.hasPrefix("__host-")
        guard isHostCookie || name.hasPrefix("__secure-") else { return true }
        return isSecure && origin.isProtected && (!isHostCookie || isHostOnly && path == "/")
    }

    /// Whether the cookie replaces an earlier one.
    func replaces(_ other: Cookie) -> Bool {
        name == other.name && domain == other.domain && path == other.path
            && isHostOnly == other.isHostOnly
    }

    func isExpired(at now: UnixTime) -> Bool { expiry.map { $0 <= now } ?? false }

    /// Whether a request to this origin and path includes the cookie.
    func isFor(_ origin: Origin, _ path: Substring) -> Bool {
        let isMatch =
            origin.host == domain || !isHostOnly && Cookie.isHost(origin.host, below: domain)
        guard isMatch, !isSecure || origin.isProtected else {
            return false
        }
        // Path matching, RFC 6265 §5.1.4.
        guard path != self.path else { return true }
        return path.hasPrefix(self.path)
            && (self.path.hasSuffix("/") || path.dropFirst(self.path.count).hasPrefix("/"))
    }

    private static func isHost(_ host: String, below domain: String) -> Bool {
        host.hasSuffix(".\(domain)") && IPAddress(host) == nil
    }

    /// Returns the directory of the request's path (RFC 6265 §5.1.4).
    private static func defaultPath(of path: Substring) -> String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash > path.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    private static func seconds(_ text: String) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return text.hasPrefix("-") ? 0 : Double(digits)
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}

extension Cookie {
    /// A cookie as it is saved.
    struct Saved: Codable {
        var name: String
        var value: String
        var domain: String
        var isHostOnly: Bool
        var path: String
        var isSecure: Bool
        /// Seconds since 1970; `nil` for a cookie of a session.
        var expires: Double?
    }

    /// The cookie as it is saved.
    var saved: Saved {
        Saved(
            name: name,
            value: value,
            domain: domain,
            isHostOnly: isHostOnly,
            path: path,
            isSecure: isSecure,
            expires: expiry?.secondsSinceEpoch
        )
    }

    /// Restores a saved cookie; returns `nil` if it cannot be sent.
    init?(_ saved: Saved) {
        guard !saved.name.isEmpty, saved.path.hasPrefix("/"),
            saved.name.utf8.count + saved.value.utf8.count <= CookieJar.longest,
            Grammar.isFieldValue("\(saved.name)=\(saved.value)")
        else { return nil }
        name = saved.name
        value = saved.value
        domain = saved.domain
        isHostOnly = saved.isHostOnly
        path = saved.path
        isSecure = saved.isSecure
        expiry = saved.expires.map { UnixTime(secondsSinceEpoch: $0) }
    }
}

/// Parses the dates of cookies, which have no fixed format (RFC 6265 §5.1.1).
enum CookieDate {
    private static let months = CivilDate.monthNames.map { $0.lowercased() }

    /// Returns the time in a text; `nil` if there is none.
    static func parse(_ text: String) -> UnixTime? {
        var (time, day, month, year): ((Int, Int, Int)?, Int?, Int?, Int?)
        let tokens = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == ":")) }
        for token in tokens {
            if time == nil, token.contains(":") {
                let parts = token.split(separator: ":").map { Int($0.prefix { $0.isNumber }) }
                guard parts.count == 3, let hour = parts[0], let minute = parts[1],
                    let second = parts[2]
                else { continue }
                time = (hour, minute, second)
            } else if day == nil, token.count <= 2, let number = Int(token) {
                day = number
            } else if month == nil, let index = months.firstIndex(of: token.prefix(3).lowercased())
            {
                month = index + 1
            } else if year == nil, token.count == 2 || token.count == 4, let number = Int(token) {
                year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
            }
        }
        guard let (hour, minute, second) = time, hour < 24, minute < 60, second < 60, let day,
            (1...31).contains(day), let month, let year, year >= 1601
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        return UnixTime(
            secondsSinceEpoch: Double(days * 86_400 + hour * 3600 + minute * 60 + second)
        )
    }
}

extension Origin {
    /// Whether no third party can read or change the traffic to the origin.
    fileprivate var isProtected: Bool { scheme == .https || isLoopback }
}
