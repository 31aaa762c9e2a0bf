/// A query parameter, matched in every spelling that a server may accept for its name.
///
/// Servers decode names, and many normalize them further: PHP trims spaces and replaces `.` by `_`, others
/// ignore
/// case, and `key[]` is a value of `key`. HTML 4 also separates parameters with `;`.
package struct QueryParameter: Sendable, Hashable {
    /// The configured name.
    package let name: String
    private let likeness: String

    /// Creates a parameter from its decoded name.
    package init(_ name: String) {
        self.name = name
        likeness = HTTPFieldName.likeness(of: name)
    }

    /// Whether the query of a target contains the parameter.
    package func isPresent(in target: String) -> Bool {
        pieces(of: target).contains(where: isNamed)
    }

    /// Returns the decoded values in the query of a target.
    package func values(in target: String) -> [String] {
        pieces(of: target).filter(isNamed).map { piece in
            PercentEncoding.decoded(piece.drop { $0 != "=" }.dropFirst())
        }
    }

    /// Returns a target or URL without the parameter; all other bytes are unchanged.
    package func removed(from target: String) -> String {
        QueryParameter.removing(from: target, where: isNamed)
    }

    /// Returns a target or URL without some parameters; all other bytes are unchanged.
    package static func removing(
        from target: String,
        where isRemoved: (_ parameter: Substring) -> Bool
    ) -> String {
        guard let query = query(of: target),
            all(in: target).contains(where: isRemoved)
        else { return target }
        var kept = ""
        var rest = target[query]
        var separator: Substring = ""
        while true {
            let piece = rest.prefix(while: QueryParameter.isWithinPiece)
            if !isRemoved(piece) { kept += (kept.isEmpty ? "" : separator) + piece }
            guard piece.endIndex < rest.endIndex else { break }
            separator = rest[piece.endIndex...].prefix(1)
            rest = rest[piece.endIndex...].dropFirst()
        }
        let before = target[..<target.index(before: query.lowerBound)]
        return before + (kept.isEmpty ? "" : "?" + kept) + target[query.upperBound...]
    }

    /// Returns a target with the parameter after the others.
    package func appended(_ value: String, to target: String) -> String {
        let pair = PercentEncoding.unreserved(name) + "=" + PercentEncoding.unreserved(value)
        guard let query = QueryParameter.query(of: target) else { return "\(target)?\(pair)" }
        let isOpen = query.isEmpty || target.hasSuffix("&")
        return target + (isOpen ? "" : "&") + pair
    }

    /// Whether a parameter has the name, in any spelling.
    package func isNamed(_ piece: Substring) -> Bool {
        let decoded = PercentEncoding.decoded(piece.prefix { $0 != "=" }).drop { $0 == " " }
        if HTTPFieldName.likeness(of: decoded) == likeness { return true }
        guard let bracket = decoded.firstIndex(of: "[") else { return false }
        return HTTPFieldName.likeness(of: decoded[..<bracket]) == likeness
    }

    private func pieces(of target: String) -> [Substring] { QueryParameter.all(in: target) }

    /// Returns the parameters of a target or URL, as they are spelled.
    package static func all(in target: String) -> [Substring] {
        guard let query = query(of: target) else { return [] }
        return target[query].split { !isWithinPiece($0) }
    }

    /// Returns the range of the query in a target or URL, without the question mark.
    private static func query(of target: String) -> Range<String.Index>? {
        let bytes = target.utf8
        guard
            let mark = bytes.firstIndex(where: {
                $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
            }),
            bytes[mark] == UInt8(ascii: "?")
        else { return nil }
        let start = bytes.index(after: mark)
        return start..<(bytes[start...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex)
    }

    private static func isWithinPiece(_ character: Character) -> Bool {
        character != "&" && character != ";"
    }
}
