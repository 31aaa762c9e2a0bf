import FoundationEssentials

/// A link that a response names (RFC 8288), such as the next page of a list.
public struct WebLink: Sendable, Hashable {
    /// Where it leads, as it was written: a full URL, or one from where the response came from.
    public let target: String
    /// Its relation types, in lower case, such as `next`.
    public let relations: [String]
    /// Its parameters by their names in lower case; of a name that comes twice, the first.
    public let parameters: [String: String]
}

extension HTTPHeaders {
    /// The links of the `Link` fields, in their order; what is malformed ends its field (RFC 8288 §3).
    public var links: [WebLink] {
        values(of: "Link").flatMap { value in
            var parser = WebLinkParser(value)
            var links: [WebLink] = []
            while let link = parser.next() { links.append(link) }
            return links
        }
    }

    /// The target of the first link of a relation.
    public func link(_ relation: String) -> String? {
        let relation = relation.lowercased()
        return links.first { $0.relations.contains(relation) }?.target
    }
}

extension Request {
    /// The GET that follows a link of this request's response, with the same fields.
    ///
    ///     request = try response.headers.link("next").map { try request.following($0) }
    ///
    /// - Parameter reference: a full URL, or one from this request's (RFC 3986 §5).
    /// - Returns: the request; it may go to another origin, where the channel's credential does not go.
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

/// Reads the links of one field (RFC 8288 appendix B.2).
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
