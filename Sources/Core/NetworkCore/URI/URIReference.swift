/// A URI reference in the form that servers use in `Location` and `Link` (RFC 3986 §4.1).
///
/// The parser is lenient: it percent-encodes spaces and non-ASCII letters. It removes the fragment, which no
/// request contains, and leaves the rest unchanged, because signed URLs depend on it.
package struct URIReference: Sendable {
    /// The reason why a reference cannot be resolved, as a clause.
    package struct Fault: Error {
        package let reason: String
    }

    private let scheme: Origin.Scheme?
    private let authority: Authority?
    /// The path and query.
    private let rest: Substring

    /// Parses a reference.
    package init(_ text: String) throws(Fault) {
        let whole = text.prefix { $0 != "#" }
        let start = whole.firstIndex { $0 != " " && $0 != "\t" } ?? whole.endIndex
        let text = PercentEncoding.encode(String(whole[start...]), Grammar.isTargetByte)
        var rest = text[...]
        var scheme: Origin.Scheme?
        if let name = URIReference.schemeName(text) {
            guard let known = Origin.Scheme(rawValue: name.lowercased()) else {
                throw Fault(reason: "its scheme is \(name), not http or https")
            }
            scheme = known
            rest = rest.dropFirst(name.count + 1)
            guard rest.hasPrefix("//") else { throw Fault(reason: "it names no host") }
        }
        if rest.hasPrefix("//") {
            let text = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
            guard !text.contains("@") else {
                throw Fault(reason: "it brings a user name or a password")
            }
            // A port may be empty (RFC 3986 §3.2.3).
            let named = text.hasSuffix(":") ? text.dropLast() : text
            guard let authority = Authority(String(named)) else {
                throw Fault(reason: "it names no valid host")
            }
            self.authority = authority
            rest = rest.dropFirst(2 + text.count)
        } else {
            authority = nil
        }
        self.scheme = scheme
        self.rest = rest
    }

    /// Returns the target of the reference, relative to a resource (RFC 3986 §5.2).
    package func resolved(from origin: Origin, _ target: String) -> (Origin, target: String) {
        let base = TargetPath(target)
        let (path, query) = URIReference.split(rest)
        if let authority {
            let origin = Origin(
                scheme: scheme ?? origin.scheme,
                host: authority.host,
                port: authority.port
            )
            return (origin, URIReference.target(path, query))
        }
        if path.isEmpty { return (origin, URIReference.target(base.path, query ?? base.query)) }
        if path.hasPrefix("/") { return (origin, URIReference.target(path, query)) }
        let folder = base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]
        let isBelow = folder.hasPrefix("/")
        return (origin, URIReference.target((isBelow ? folder : "/") + path, query))
    }

    private static func split(_ text: Substring) -> (path: Substring, query: Substring?) {
        guard let mark = text.firstIndex(of: "?") else { return (text, nil) }
        return (text[..<mark], text[text.index(after: mark)...])
    }

    private static func target(_ path: Substring, _ query: Substring?) -> String {
        withoutSteps(path.isEmpty ? "/" : path) + (query.map { "?\($0)" } ?? "")
    }

    /// Returns the path without `.` and `..` (RFC 3986 §5.2.4).
    private static func withoutSteps(_ path: Substring) -> String {
        guard path.contains("/.") else { return String(path) }
        var segments: [Substring] = []
        let all = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in all.enumerated() {
            switch segment {
            case ".", "..":
                if segment == "..", !segments.isEmpty { segments.removeLast() }
                if index == all.count - 1 { segments.append("") }
            default: segments.append(segment)
            }
        }
        return "/" + segments.joined(separator: "/")
    }

    /// Returns the scheme, the text before the first `:`, if it is valid (RFC 3986 §3.1).
    private static func schemeName(_ text: String) -> Substring? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let name = text[..<colon]
        guard let first = name.utf8.first, !Grammar.isDigit(first) else { return nil }
        let isScheme = name.utf8.allSatisfy { byte in
            Grammar.isAlphanumeric(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
        return isScheme ? name : nil
    }
}
