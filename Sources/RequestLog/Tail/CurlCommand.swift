import NetworkCore

/// A command that sends a logged request again; what the log does not know stands in angle brackets.
package struct CurlCommand: Sendable, CustomStringConvertible {
    /// The command, quoted for a POSIX shell.
    package let description: String

    /// Makes the command, or nothing if the line tells no request that could be sent.
    ///
    /// `hasWholeQuery` says whether the log shows queries as they were sent, where a line could be
    /// read either way.
    package init?(_ line: LogLine, hasWholeQuery: Bool = false) {
        guard let url = RequestURL(line, hasWholeQuery: hasWholeQuery),
            let method = line["method"]?.text
        else { return nil }
        let hasBody = (line["bytes_in"]?.integer ?? 0) > 0
        var words = ["curl"]
        words += CurlWords.method(method, hasContent: hasBody)
        words += CurlWords.url(url.description, isAsterisk: url.isAsterisk)
        var names: Set<String> = []
        if case .object(let fields)? = line["headers"] {
            for field in fields {
                names.insert(field.name)
                words += CurlWords.field(field.name, field.value.plain)
            }
        }
        if let kind = line["auth.kind"]?.text, !names.contains("authorization") {
            words += ["-H", Self.credential(kind, channel: line["channel"]?.text)]
        }
        if let count = line["bytes_in"]?.integer, count > 0 {
            words += ["--data-binary", "'@<the body of \(count) bytes>'"]
        }
        description = words.joined(separator: " ")
    }

    private static func credential(_ kind: String, channel: String?) -> String {
        let owner = channel.map { "of channel \($0)" } ?? "of the channel"
        return switch kind {
        case "basic": CurlWords.quoted("Authorization: Basic <credential \(owner)>")
        case "header": CurlWords.quoted("<credential field \(owner)>")
        default: CurlWords.quoted("Authorization: Bearer <token \(owner)>")
        }
    }
}

/// The URL of a logged upstream request, as far as the log tells it.
struct RequestURL: CustomStringConvertible {
    /// Names and values of the query; a value that the log does not show is its name in brackets.
    let parameters: [(name: String, value: String?)]
    let description: String
    /// Whether the request was for the server as a whole (`OPTIONS *`): then there is no path (RFC
    /// 9112 §3.2.4).
    let isAsterisk: Bool

    init?(_ line: LogLine, hasWholeQuery: Bool) {
        guard let host = line["host"]?.text, let target = line["path"]?.text else { return nil }
        self.init(line, host: host, target: target, hasWholeQuery: hasWholeQuery)
    }

    /// The URL as far as the line has one: what was refused went nowhere, but came to this machine.
    init(ofAny line: LogLine, hasWholeQuery: Bool) {
        let target = line["path"]?.text ?? "/"
        let host = line["host"]?.text ?? "localhost"
        self.init(line, host: host, target: target, hasWholeQuery: hasWholeQuery)
    }

    private init(_ line: LogLine, host: String, target: String, hasWholeQuery: Bool) {
        isAsterisk = target == "*"
        let path = isAsterisk ? "" : target
        var query = line["query"]?.text ?? ""
        // With `query: keys` the line has names with commas between them.
        if hasWholeQuery || query.contains("=") || query.contains("&") {
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
            parameters = names.map { (String($0), "<\($0)>") }
            query = names.map { "\($0)=<\($0)>" }.joined(separator: "&")
        }
        let scheme = line["scheme"]?.text ?? "http"
        description = "\(scheme)://\(host)\(path)" + (query.isEmpty ? "" : "?\(query)")
    }
}
