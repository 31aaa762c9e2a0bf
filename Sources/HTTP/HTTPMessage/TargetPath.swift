import NetproxyBytes

/// The path and the query of a request target, split at the first `?` and otherwise unchanged.
public struct TargetPath: Sendable, Hashable {
    /// Everything before the first `?`.
    public let path: Substring
    /// Everything after the first `?`; `nil` if there is none.
    public let query: Substring?

    /// Splits path and query.
    public init(_ pathAndQuery: String) {
        let mark = pathAndQuery.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = pathAndQuery[..<(mark ?? pathAndQuery.endIndex)]
        query = mark.map { pathAndQuery[pathAndQuery.utf8.index(after: $0)...] }
    }

    /// Whether the path begins with the segments of `base` and no dot segment leaves them again.
    ///
    /// Dot segments count if they are literal or percent-encoded (`..`, `%2e%2E`), if a `;` follows them
    /// (some servers drop path parameters first), and if `%2F`, `%5C` or `\` separate them instead of
    /// slashes. If servers disagree, the worst reading counts: such a segment can lead up, but never down.
    public func staysUnder(_ base: String = "/") -> Bool {
        let prefix = base.hasSuffix("/") ? String(base.dropLast()) : base
        var rest = path.utf8[...]
        guard rest.starts(with: prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        guard rest.isEmpty ? !prefix.isEmpty : rest.first == UInt8(ascii: "/") else { return false }
        var depth = 0
        for segment in rest.split(separator: UInt8(ascii: "/")) {
            depth += TargetPath.step(Array(segment))
            if depth < 0 { return false }
        }
        return true
    }

    /// Whether a server could find a dot segment in the path, including an encoded one.
    ///
    /// A pattern that matches such a path need not match the served resource.
    package var hasDotSegments: Bool {
        guard path.utf8.contains(where: TargetPath.mayStep) else { return false }
        return path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
            TargetPath.step(Array(segment)) != 1
        }
    }

    /// Returns `TargetPath(target).staysUnder(base)`, but splits the path only if it has a byte that could
    /// lead up.
    package static func staysUnder(_ base: String, _ target: String) -> Bool {
        let bytes = target.utf8.span
        let prefix = base.utf8.span
        var prefixCount = prefix.count
        if prefixCount > 0, prefix[prefixCount - 1] == UInt8(ascii: "/") { prefixCount -= 1 }
        guard bytes.count >= prefixCount else { return false }
        for index in 0..<prefixCount where bytes[index] != prefix[index] { return false }
        var index = prefixCount
        while index < bytes.count, bytes[index] != UInt8(ascii: "?") {
            switch bytes[index] {
            case UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "\\"), UInt8(ascii: ";"):
                return TargetPath(target).staysUnder(base)
            default: index += 1
            }
        }
        if index == prefixCount { return prefixCount > 0 }
        return bytes[prefixCount] == UInt8(ascii: "/")
    }

    /// Whether a byte can be part of a dot segment, or of a sequence that some servers treat as one.
    private static func mayStep(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "\\"), UInt8(ascii: ";"): true
        default: false
        }
    }

    /// Returns 1 for a segment that leads down, 0 for no step, and -1 for each `..` that could lead up.
    private static func step(_ segment: [UInt8]) -> Int {
        guard segment.contains(where: mayStep) else { return 1 }
        let pieces = decodingDots(segment).split(separator: UInt8(ascii: "/")).map {
            $0.prefix { $0 != UInt8(ascii: ";") }
        }
        let climbs = pieces.count { $0.elementsEqual("..".utf8) }
        if climbs > 0 { return -climbs }
        return pieces.allSatisfy { $0.isEmpty || $0.elementsEqual(".".utf8) } ? 0 : 1
    }

    /// Returns the segment with `%2e` as `.`, and with `%2f`, `%5c` and `\` as `/`.
    private static func decodingDots(_ segment: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = 0
        while index < segment.count {
            let byte = segment[index]
            index += 1
            guard byte == UInt8(ascii: "%"), index + 1 < segment.count else {
                decoded.append(byte == UInt8(ascii: "\\") ? UInt8(ascii: "/") : byte)
                continue
            }
            switch (segment[index], segment[index + 1] | 0x20) {
            case (UInt8(ascii: "2"), UInt8(ascii: "e")): decoded.append(UInt8(ascii: "."))
            case (UInt8(ascii: "2"), UInt8(ascii: "f")), (UInt8(ascii: "5"), UInt8(ascii: "c")):
                decoded.append(UInt8(ascii: "/"))
            default:
                decoded.append(byte)
                continue
            }
            index += 2
        }
        return decoded
    }
}
