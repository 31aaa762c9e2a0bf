import NetproxyHTTPMessage

/// The idle time that a server announces: `Keep-Alive: timeout=5` (RFC 2068 §19.7.1.1; nginx, Apache and
/// Node.js send it).
///
/// A request that crosses the server's close is lost, and a POST cannot be repeated. So the connection closes
/// on this side first.
enum KeepAliveHint {
    /// Returns the shorter of our own limit and the announced one.
    static func limit(_ own: Duration, by headers: HTTPHeaders) -> Duration {
        time(in: headers).map { min($0, own) } ?? own
    }

    /// Returns the announced time, shortened by 20 % but at most by one second to allow for the network
    /// delay.
    ///
    /// Returns `nil` if no time is announced.
    static func time(in headers: HTTPHeaders) -> Duration? {
        var shortest: Int?
        for parameter in headers.elements(of: .keepAlive) {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, trimmed(parts[0]).lowercased() == "timeout" else { continue }
            let digits = trimmed(parts[1]).filter { $0 != "\"" }
            // At most 8 digits: a longer number could overflow. Text is ignored.
            guard (1...8).contains(digits.utf8.count), let seconds = Int(digits), seconds >= 0
            else { continue }
            shortest = min(seconds, shortest ?? seconds)
        }
        return shortest.map { seconds in
            Duration.seconds(seconds) - min(.seconds(1), .milliseconds(seconds * 200))
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
