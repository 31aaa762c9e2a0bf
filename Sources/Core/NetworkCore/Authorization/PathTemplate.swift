/// A base path that contains a credential, such as `/bot{credential}`.
package struct PathTemplate: Sendable, Hashable {
    /// The placeholder of the credential, in base paths and in displayed paths.
    package static let marker = "{credential}"
    /// The percent-encoded marker, as it may appear in a URL (RFC 3986 §2.1).
    package static let encodedMarker = "%7Bcredential%7D"

    /// The text before the credential, and the text after it.
    private let head: String
    private let tail: String

    /// A path that a template matches.
    package struct Match {
        /// The value at the position of the credential.
        package let value: Substring
        /// The text after the base path: empty, or starting with `/`, `?` or `#`.
        package let rest: Substring

        /// Whether the value is the marker itself, as in the paths that netproxy displays.
        package var isPlaceholder: Bool {
            PercentEncoding.decodedSegment(value) == PathTemplate.marker
        }
    }

    /// Splits a base path at its marker; returns `nil` if it has none.
    package init?(_ basePath: String) {
        guard let place = basePath.firstRange(of: PathTemplate.marker) else { return nil }
        head = String(basePath[..<place.lowerBound])
        tail = String(basePath[place.upperBound...])
    }

    /// Splits the path of a target at its first marker; the second part includes the query.
    init?(_ target: TargetPath) {
        guard let path = PathTemplate(String(target.path)) else { return nil }
        head = path.head
        tail = path.tail + (target.query.map { "?\($0)" } ?? "")
    }

    /// The configured base path.
    package var text: String { filled(with: PathTemplate.marker) }

    /// Whether the template contains more than slashes beside the marker; otherwise it would match any path.
    package var isRecognizable: Bool {
        (head + tail).utf8.contains { $0 != UInt8(ascii: "/") }
    }

    /// Matches a path under the base path, with any value at the position of the credential.
    package func match(_ target: some StringProtocol) -> Match? {
        let bytes = Substring(target).utf8
        guard bytes.starts(with: head.utf8) else { return nil }
        let segment = bytes.dropFirst(head.utf8.count).prefix { !PathTemplate.endsSegment($0) }
        let sibling = tail.utf8.prefix { !PathTemplate.endsSegment($0) }
        guard segment.count > sibling.count,
            segment.suffix(sibling.count).elementsEqual(sibling)
        else { return nil }
        let value = segment.dropLast(sibling.count)
        let after = bytes[value.endIndex...]
        guard after.starts(with: tail.utf8) else { return nil }
        let rest = after.dropFirst(tail.utf8.count)
        guard rest.first.map(PathTemplate.endsSegment) ?? true else { return nil }
        return Match(value: Substring(value), rest: Substring(rest))
    }

    /// Returns the base path with a value at the position of the credential.
    package func filled(with value: some StringProtocol) -> String { head + value + tail }

    private static func endsSegment(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
