package import NetproxySettings
import NetworkCore

/// A curl command that repeats a logged request, with placeholders in angle brackets for the parts missing
/// from the log.
package struct CurlCommand: Sendable, CustomStringConvertible {
    /// The location of a channel's credential in a request.
    package enum CredentialLocation: Sendable, Equatable, Codable {
        /// A field; without a prefix, the prefix of the credential's kind applies.
        case field(name: String, prefix: String?)
        case parameter(String)
        /// The position of `{credential}` in the logged path.
        case path
    }

    /// The command, quoted for a POSIX shell.
    package let description: String

    /// Creates the command; nil if the line has no request that could be sent.
    ///
    /// `query` is the channel's query mode, which resolves ambiguous lines. `place` is the location of the
    /// channel's credential, if it is not in the field of its kind, and `notation` is that of its kind.
    package init?(
        _ line: LogLine,
        query: QueryMode = .keys,
        place: CredentialLocation? = nil,
        as notation: CredentialNotation = .token
    ) {
        guard let url = RequestURL(line, query: query),
            let method = line[.method]?.text
        else { return nil }
        let hasBody = (line[.bytesIn]?.integer ?? 0) > 0
        var words = ["curl"]
        words += hasBody ? CurlWords.methodWithContent(method) : CurlWords.method(method)
        let hasCredential = line[.authKind]?.text != nil
        let owner = line[.channel]?.text.map { "of channel \($0)" } ?? "of the channel"
        var target = url.description
        if hasCredential {
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
        if hasCredential, let field = Self.field(notation, place, owner),
            !names.contains(field.name)
        {
            words += ["-H", CurlWords.quoted(field.line)]
        }
        if let count = line[.bytesIn]?.integer, count > 0 {
            words += ["--data-binary", "'@<the body of \(count) bytes>'"]
        }
        description = words.joined(separator: " ")
    }

    /// Returns the field with the credential, and its name in lower case, or nil if the credential is
    /// elsewhere.
    private static func field(
        _ notation: CredentialNotation,
        _ place: CredentialLocation?,
        _ owner: String
    ) -> (name: String, line: String)? {
        let (name, prefix): (String, String)
        switch (place, notation.field) {
        case (.parameter, _), (.path, _): return nil
        case (.field(let own, let text), _): (name, prefix) = (own, text ?? notation.prefix)
        case (nil, let field?): (name, prefix) = (field, notation.prefix)
        case (nil, nil): return ("authorization", "<credential field \(owner)>")
        }
        return (name.lowercased(), "\(name): \(prefix)<\(notation.noun) \(owner)>")
    }
}

/// The known parts of the URL of a logged upstream request.
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

    /// Creates the URL with defaults for missing parts.
    ///
    /// A refused request was not forwarded, but this machine received it. The values of parameters without a
    /// logged value are empty.
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
