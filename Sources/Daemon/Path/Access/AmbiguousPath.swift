import NetproxyHTTPMessage

/// Finds paths that servers read differently, so that a pattern matches only one of the readings.
enum AmbiguousPath {
    /// Whether servers disagree about a path.
    ///
    /// Such a path has empty segments, which some servers merge; parameters, which some drop (RFC 3986
    /// §3.3); escapes that decode to further escapes or to the end of the path; control characters or
    /// invalid UTF-8, about which decoders disagree; or a segment that some servers read as dots.
    static func isAmbiguous(_ path: Span<UInt8>) -> Bool {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.count)
        var isASCII = true
        var index = 0
        while index < path.count {
            let (byte, length) = PercentByte.decoded(at: index, in: path)
            switch byte {
            case UInt8(ascii: ";"), 0x00...0x1F, 0x7F: return true
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                if length == 3 { return true }
            case UInt8(ascii: "/"):
                if length == 1, index + 1 < path.count, path[index + 1] == UInt8(ascii: "/") {
                    return true
                }
            default: if byte >= 0x80 { isASCII = false }
            }
            decoded.append(byte)
            index += length
        }
        var segment = Segment()
        if isASCII {
            for byte in decoded where segment.ends(with: Unicode.Scalar(byte)) { return true }
        } else {
            guard let text = String(validating: decoded, as: UTF8.self) else { return true }
            for scalar in text.unicodeScalars
            where scalar == "\u{FFFD}" || segment.ends(with: scalar) {
                return true
            }
        }
        return segment.isDots
    }

    /// The state of the segment being read.
    private struct Segment {
        private var isEmpty = true
        private var hasOthers = false

        /// Whether the segment has only dots and characters that some decoders drop or trim.
        var isDots: Bool { !isEmpty && !hasOthers }

        /// Reads a character; returns true at the end of a segment of dots.
        mutating func ends(with scalar: Unicode.Scalar) -> Bool {
            switch scalar {
            // Characters that become a slash when widths are folded (Unicode's compatibility forms).
            case "/", "\\", "\u{FE68}", "\u{FF0F}", "\u{FF3C}":
                defer { self = Segment() }
                return isDots
            // Characters that become full stops, and invisible ones.
            case ".", "\u{2024}"..."\u{2026}", "\u{FE52}", "\u{FF0E}", " ", "\u{AD}", "\u{180E}",
                "\u{200B}"..."\u{200F}", "\u{2060}"..."\u{2064}", "\u{FEFF}":
                isEmpty = false
            default: (isEmpty, hasOthers) = (false, true)
            }
            return false
        }
    }
}
