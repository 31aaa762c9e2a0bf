import NetproxyHTTPMessage

/// How long a server says that it keeps a connection without a request: `Keep-Alive: timeout=5`
/// (RFC 2068 §19.7.1.1; nginx, Apache and Node.js send it).
///
/// A request that meets the server's close on the way is lost, and cannot be repeated if it is a POST:
/// so the connection ends here first.
enum KeepAliveHint {
    /// The shorter of our own limit and the announced one.
    static func limit(_ own: Duration, by headers: HTTPHeaders) -> Duration {
        time(in: headers).map { min($0, own) } ?? own
    }

    /// How long the connection may idle here: the announced time without a fifth of it, or without a
    /// second if that is less, for the way to the server; `nil` if none is announced.
    static func time(in headers: HTTPHeaders) -> Duration? {
        var shortest: Int?
        for parameter in headers.elements(of: .keepAlive) {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, trimmed(parts[0]).lowercased() == "timeout" else { continue }
            let digits = trimmed(parts[1]).filter { $0 != "\"" }
            // No year is long enough to overflow, and no text is a time.
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
