import NetproxyHTTPMessage

/// A pattern for paths in which `*` matches any characters, including slashes: `/orders/*`.
///
/// Paths are compared in their normal form, so `/caf%c3%a9` matches the pattern `/caf%C3%A9`.
struct PathPattern: Sendable, CustomStringConvertible {
    let description: String
    private let bytes: [UInt8]

    init(_ text: String) {
        description = text
        bytes = NormalPath(text.utf8.span).bytes
    }

    /// Whether the pattern matches a path.
    func matches(_ path: String) -> Bool {
        let normal = NormalPath(path.utf8.span).bytes
        return matches(normal.span)
    }

    /// Whether the pattern matches a path in its normal form.
    func matches(_ path: Span<UInt8>) -> Bool {
        PathPattern.matches(bytes.span, path)
    }

    /// Returns the path of a target without the query and the upstream's base path.
    static func path(of target: String, below base: String) -> String {
        let path = TargetPath(target).path
        guard !base.isEmpty, path.utf8.starts(with: base.utf8) else { return String(path) }
        let rest = path.utf8.dropFirst(base.utf8.count)
        return rest.isEmpty ? "/" : String(Substring(rest))
    }

    private static func matches(_ pattern: Span<UInt8>, _ path: Span<UInt8>) -> Bool {
        var (place, index) = (0, 0)
        var star: (place: Int, index: Int)?
        while index < path.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, index)
                place += 1
            } else if place < pattern.count, pattern[place] == path[index] {
                (place, index) = (place + 1, index + 1)
            } else if let last = star {
                // Extend the match of the last star by one byte.
                star = (last.place, last.index + 1)
                (place, index) = (last.place + 1, last.index + 1)
            } else {
                return false
            }
        }
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") { place += 1 }
        return place == pattern.count
    }
}
