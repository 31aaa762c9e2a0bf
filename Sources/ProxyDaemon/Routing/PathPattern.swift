import HTTPMessage

/// A pattern for paths in which `*` matches any characters, slashes included: `/orders/*`.
struct PathPattern: Sendable, CustomStringConvertible {
    let description: String
    private let bytes: [UInt8]

    init(_ text: String) {
        description = text
        bytes = Array(text.utf8)
    }

    /// Whether the pattern matches a path.
    func matches(_ path: String) -> Bool {
        PathPattern.matches(bytes.span, path.utf8.span)
    }

    /// The path of a target, without the query and the upstream's base path.
    static func path(of target: String, below base: String) -> String {
        let path = TargetPath(target).path
        guard !base.isEmpty, path.hasPrefix(base) else { return String(path) }
        let rest = path.dropFirst(base.count)
        return rest.isEmpty ? "/" : String(rest)
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
                // The last star takes one more byte.
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
