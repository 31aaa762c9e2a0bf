import FoundationEssentials

/// A link in a response (RFC 8288), such as the next page of a list.
public struct WebLink: Sendable, Hashable {
    /// The target as written: an absolute URL, or one relative to the URL of the response.
    public let target: String
    /// The relation types, in lower case, such as `next`.
    public let relations: [String]
    /// The parameters by their names in lower case; the first of several equal names counts.
    public let parameters: [String: String]
}

extension HTTPHeaders {
    /// The links of the `Link` fields, in order; a malformed link ends its field (RFC 8288 §3).
    public var links: [WebLink] {
        values(of: "Link").flatMap { value in
            var parser = WebLinkParser(value)
            var links: [WebLink] = []
            while let link = parser.next() { links.append(link) }
            return links
        }
    }

    /// Returns the target of the first link with a relation.
    public func link(_ relation: String) -> String? {
        let relation = relation.lowercased()
        return links.first { $0.relations.contains(relation) }?.target
    }
}

extension Request {
    /// Returns the GET that follows a link in the response to this request, with the same fields.
    ///
    ///     request = try response.headers.link("next").map { try request.following($0) }
    ///
    /// - Parameter reference: an absolute URL, or one relative to this request (RFC 3986 §5).
    /// - Returns: the request; the channel's credential is not sent if it goes to another origin.
    /// - Throws: `http_request_error` for an invalid URL.
    public func following(_ reference: String) throws(NetworkError) -> Request {
        do throws(URIReference.Fault) {
            let (origin, target) = try URIReference(reference).resolved(from: origin, target)
            return Request(origin: origin, target: target, headers: headers)
        } catch {
            throw .unsendable("'\(reference)' leads nowhere: \(error.reason)")
        }
    }
}

/// Parses the links of one field (RFC 8288 appendix B.2).
private struct WebLinkParser {
    private var rest: Substring.UnicodeScalarView

    init(_ value: String) {
        rest = value.unicodeScalars[...]
    }

    mutating func next() -> WebLink? {
        skip { $0 == "," || Self.isBlank($0) }
        guard take("<") else { return nil }
        let target = takeWhile { $0 != ">" }
        guard take(">") else { return nil }
        var parameters: [String: String] = [:]
        skip(Self.isBlank)
        while take(";") {
            skip(Self.isBlank)
            let name = takeWhile { $0 != "=" && $0 != ";" && $0 != "," && !Self.isBlank($0) }
            skip(Self.isBlank)
            var value = ""
            if take("=") {
                skip(Self.isBlank)
                guard let text = takeValue() else { return nil }
                value = text
            }
            skip(Self.isBlank)
            if !name.isEmpty, parameters[name.lowercased()] == nil {
                parameters[name.lowercased()] = value
            }
        }
        let relations = (parameters["rel"] ?? "").lowercased().split(separator: " ")
        return WebLink(
            target: target,
            relations: relations.map(String.init),
            parameters: parameters
        )
    }

    private mutating func takeValue() -> String? {
        guard take("\"") else {
            return takeWhile { $0 != ";" && $0 != "," && !Self.isBlank($0) }
        }
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == "\"" { return String(text) }
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            text.append(escaped)
        }
        return nil
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t"
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skip(_ isSkipped: (Unicode.Scalar) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    private mutating func takeWhile(_ isTaken: (Unicode.Scalar) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return String(String.UnicodeScalarView(taken))
    }
}
