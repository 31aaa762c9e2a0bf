/// A base path in which a credential has its place: `/bot{credential}`.
package struct PathTemplate: Sendable, Hashable {
    /// The placeholder of the credential, in a base path and wherever one is shown.
    package static let marker = "{credential}"
    /// The marker as a URL may hold it (RFC 3986 §2.1).
    package static let encodedMarker = "%7Bcredential%7D"

    /// The text before the credential, and the text after it.
    private let head: String
    private let tail: String

    /// A path that a template matches.
    package struct Match {
        /// The value in the place of the credential.
        package let value: Substring
        /// What follows the base path: empty, or from a `/`, `?` or `#` on.
        package let rest: Substring

        /// Whether the value is the marker itself, as in what netproxy shows of a path.
        package var isPlaceholder: Bool {
            PercentEncoding.decodedSegment(value) == PathTemplate.marker
        }
    }

    /// Splits a base path at its marker; `nil` if it has none.
    package init?(_ basePath: String) {
        guard let place = basePath.firstRange(of: PathTemplate.marker) else { return nil }
        head = String(basePath[..<place.lowerBound])
        tail = String(basePath[place.upperBound...])
    }

    /// Splits the path of a target at its first marker; what follows includes the query.
    init?(_ target: TargetPath) {
        guard let path = PathTemplate(String(target.path)) else { return nil }
        head = path.head
        tail = path.tail + (target.query.map { "?\($0)" } ?? "")
    }

    /// The base path as it is configured.
    package var text: String { filled(with: PathTemplate.marker) }

    /// Whether more than slashes surround the place: a path without them could be any path.
    package var isRecognizable: Bool {
        (head + tail).utf8.contains { $0 != UInt8(ascii: "/") }
    }

    /// Reads a path that lies under the base path, with any value in the credential's place.
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

    /// The base path with a value in the credential's place.
    package func filled(with value: some StringProtocol) -> String { head + value + tail }

    private static func endsSegment(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
