import NetworkCore

/// A curl command that repeats a logged request, with placeholders in angle brackets for what is not in the log.
package struct CurlCommand: Sendable, CustomStringConvertible {
    /// Where a channel's credential goes in a request.
    package enum Place: Sendable, Equatable, Codable {
        /// A field; without a prefix, what stands in front is that of the credential's kind.
        case field(name: String, prefix: String?)
        case parameter(String)
        /// Where the logged path has `{credential}`.
        case path
    }

    /// The command, quoted for a POSIX shell.
    package let description: String

    /// Creates the command; nil if the line has no request that could be sent.
    ///
    /// `query` is the channel's query mode; it matters if a line is ambiguous. `place` is where the
    /// channel's credential goes, if not into the field of its kind.
    package init?(_ line: LogLine, query: QueryMode = .keys, place: Place? = nil) {
        guard let url = RequestURL(line, query: query),
            let method = line[.method]?.text
        else { return nil }
        let hasBody = (line[.bytesIn]?.integer ?? 0) > 0
        var words = ["curl"]
        words += hasBody ? CurlWords.methodWithContent(method) : CurlWords.method(method)
        let kind = line[.authKind]?.text
        let owner = line[.channel]?.text.map { "of channel \($0)" } ?? "of the channel"
        var target = url.description
        if kind != nil {
            switch place {
            case .parameter(let name) where !url.isAsterisk:
                target = QueryParameter(name).removed(from: target)
                target += (target.contains("?") ? "&" : "?") + "\(name)=<credential \(owner)>"
            case .path:
                target = target.replacing(PathTemplate.marker, with: "<credential \(owner)>")
            case .parameter, .field, nil: break
            }
        }
        words += CurlWords.url(target, url.isAsterisk ? .asterisk : .path)
        var names: Set<String> = []
        if case .object(let fields)? = line[.headers] {
            for field in fields {
                names.insert(field.name)
                words += CurlWords.field(field.name, field.value.plain)
            }
        }
        if let kind, let field = Self.field(kind, place, owner), !names.contains(field.name) {
            words += ["-H", CurlWords.quoted(field.line)]
        }
        if let count = line[.bytesIn]?.integer, count > 0 {
            words += ["--data-binary", "'@<the body of \(count) bytes>'"]
        }
        description = words.joined(separator: " ")
    }

    /// The field with the credential, and its name in lower case; nil if it is elsewhere.
    private static func field(
        _ kind: String,
        _ place: Place?,
        _ owner: String
    ) -> (name: String, line: String)? {
        var name = "Authorization"
        var prefix =
            switch kind {
            case "basic": "Basic "
            case "header": ""
            default: "Bearer "
            }
        switch place {
        case .parameter, .path: return nil
        case .field(let own, let text): (name, prefix) = (own, text ?? prefix)
        case nil where kind == "header":
            return (name.lowercased(), "<credential field \(owner)>")
        case nil: break
        }
        let value = kind == "basic" || kind == "header" ? "credential" : "token"
        return (name.lowercased(), "\(name): \(prefix)<\(value) \(owner)>")
    }
}

/// The URL of a logged upstream request, as far as it is known.
struct RequestURL: CustomStringConvertible {
    /// Names and values of the query.
    let parameters: [(name: String, value: String?)]
    let description: String
    /// Whether the request was `OPTIONS *`, which has no path (RFC 9112 §3.2.4).
    let isAsterisk: Bool

    init?(_ line: LogLine, query mode: QueryMode) {
        guard let host = line[.host]?.text, let target = line[.path]?.text else { return nil }
        self.init(line, host: host, target: target, query: mode)
    }

    /// The URL with defaults for what is missing: a refused request was not sent anywhere, but it was
    /// received on this machine.
    ///
    /// A value that is not logged is empty.
    init(ofAny line: LogLine, query mode: QueryMode) {
        let target = line[.path]?.text ?? "/"
        let host = line[.host]?.text ?? "localhost"
        self.init(line, host: host, target: target, query: mode) { _ in "" }
    }

    private init(
        _ line: LogLine,
        host: String,
        target: String,
        query mode: QueryMode,
        unknown: (Substring) -> String = { "<\($0)>" }
    ) {
        isAsterisk = target == "*"
        let path = isAsterisk ? "" : target
        var query = line[.query]?.text ?? ""
        // With `query: keys`, the line has names separated by commas.
        if mode == .full || query.contains("=") || query.contains("&") {
            parameters = query.split(separator: "&").map { part in
                let pair = part.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                return (String(pair[0]), pair.count == 2 ? String(pair[1]) : nil)
            }
        } else {
            let names = query.split(separator: ",")
            parameters = names.map { (String($0), unknown($0)) }
            query = names.map { "\($0)=\(unknown($0))" }.joined(separator: "&")
        }
        let scheme = line[.scheme]?.text ?? "http"
        description = "\(scheme)://\(host)\(path)" + (query.isEmpty ? "" : "?\(query)")
    }
}
