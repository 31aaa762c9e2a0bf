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
        var words = ["curl"] + Self.options(keeping: url.description)
        switch method {
        // With a body, curl would make it a POST.
        case "GET" where !hasBody: break
        // With a body, curl refuses that; told of the method only, it waits for content of the answer.
        case "HEAD" where !hasBody: words.append("--head")
        default: words += ["-X", Self.quoted(method)]
        }
        if url.isAsterisk { words += ["--request-target", Self.quoted("*")] }
        words.append(Self.quoted(url.description))
        var names: Set<String> = []
        if case .object(let fields)? = line["headers"] {
            for field in fields {
                names.insert(field.name)
                let value = field.value.plain
                // curl sends a field without a value if a semicolon stands for the colon.
                let text = value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
                words += ["-H", Self.quoted(text)]
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

    /// What keeps curl from changing the URL: it takes brackets and braces for patterns, and removes
    /// dot segments.
    private static func options(keeping url: String) -> [String] {
        var options: [String] = []
        if url.contains(where: { "[]{}".contains($0) }) { options.append("--globoff") }
        let path = url.lowercased().replacing("%2e", with: ".")
        if path.contains("/.") { options.append("--path-as-is") }
        return options
    }

    private static func credential(_ kind: String, channel: String?) -> String {
        let owner = channel.map { "of channel \($0)" } ?? "of the channel"
        return switch kind {
        case "basic": quoted("Authorization: Basic <credential \(owner)>")
        case "header": quoted("<credential field \(owner)>")
        default: quoted("Authorization: Bearer <token \(owner)>")
        }
    }

    /// One word for the shell.
    ///
    /// Scalar by scalar: as a character, a quote with an accent is none, but the shell ends the word
    /// there. What a terminal would obey (DEL, the C1 controls and those of writing direction, which a field
    /// value may have) is left to `printf`.
    private static func quoted(_ text: String) -> String {
        let safe = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:".utf8.contains(byte)
            }
        }
        guard !safe || text.isEmpty else { return text }
        var word = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" {
                word += #"'\''"#
            } else if LogText.isObeyed(scalar), scalar != "\t", scalar != "\n" {
                word += #"'"$(printf '"# + octal(scalar) + #"')"'"#
            } else {
                word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    /// A scalar's bytes as `printf` takes them: a backslash and three digits each.
    private static func octal(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf8.map { byte in
            #"\"# + [byte >> 6, byte >> 3 & 7, byte & 7].map(String.init).joined()
        }.joined()
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
