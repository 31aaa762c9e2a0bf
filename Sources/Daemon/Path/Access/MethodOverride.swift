import NetproxyBytes
import NetproxyHTTPMessage
import NetworkCore

/// Finds the fields and parameters that make some servers use another method.
enum MethodOverride {
    private static let fields: [HTTPFieldName] = [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Method",
    ]
    /// The lengths of the field names, as bits.
    private static let lengths: UInt64 = 1 << 22 | 1 << 13 | 1 << 17 | 1 << 8
    /// The query parameters from which frameworks take the method, as `Name` folds them.
    private static let parameters = [
        "_method", "x_http_method_override", "x_http_method", "x_method_override",
    ]
    /// Facebook's parameter; it overrides the method only if its value is the name of one, since many APIs
    /// use the parameter for something else.
    private static let ambiguous = "method"
    private static let writing: [HTTPMethod] = [.post, .put, .patch, .delete]

    /// Returns the first field that overrides the method.
    static func field(in headers: HTTPHeaders) -> String? {
        headers.firstName(like: fields)
    }

    /// Returns the query parameter that overrides the method.
    ///
    /// - Parameters:
    ///   - target: the path and query.
    ///   - methods: the allowed methods.
    /// - Returns: the parameter's name.
    static func parameter(of target: String, beyond methods: [HTTPMethod]) -> String? {
        parameter(of: target) { name, value in
            name != ambiguous
                || writing.contains { !$0.isAmong(methods) && $0.isNamed(by: value) }
        }
    }

    /// Returns the field or the parameter that requests TRACE or TRACK.
    ///
    /// - Parameters:
    ///   - headers: the fields of the request.
    ///   - target: the path and query.
    /// - Returns: the name of the field or parameter.
    static func askingForTrace(in headers: HTTPHeaders, _ target: String) -> String? {
        if headers.hasOther(ofLengths: lengths) {
            let field = fields.first { headers.values(like: $0).contains(where: isTrace) }
            if let field { return field.text }
        }
        return parameter(of: target) { _, value in isTrace(value) }
    }

    /// Whether a server may read the name of a method as TRACE.
    static func isTrace(_ method: String) -> Bool {
        let name = method.filter { $0 != " " && $0 != "\t" }
        return HTTPMethod.trace.isNamed(by: name) || Grammar.equalIgnoringCase("TRACK", name)
    }

    /// Returns the first method parameter of a query whose name and value satisfy a condition.
    private static func parameter(
        of target: String,
        where isMeant: (_ name: String, _ value: String) -> Bool
    ) -> String? {
        // Every parameter name has an m unless it is escaped, so most targets need no parsing.
        let mayHaveName = target.hasByte(after: UInt8(ascii: "?")) { byte in
            byte | 0x20 == UInt8(ascii: "m") || byte == UInt8(ascii: "%")
        }
        guard mayHaveName else { return nil }
        let bytes = target.utf8.span
        guard var index = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0) else { return nil }
        while index < bytes.count {
            index += 1
            let start = index
            while index < bytes.count, !isSeparator(bytes[index]) { index += 1 }
            let piece = bytes.extracting(start..<index)
            let name = Name(piece)
            let found =
                parameters.first(where: name.equals)
                ?? (name.equals(ambiguous) ? ambiguous : nil)
            if let found, isMeant(found, value(of: piece)) { return found }
        }
        return nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: ";")
    }

    /// Returns the decoded value of a parameter.
    private static func value(of piece: Span<UInt8>) -> String {
        let text = piece.string(in: 0..<piece.count)
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return "" }
        return PercentEncoding.decoded(text[text.utf8.index(after: equals)...])
    }

    /// The beginning of a parameter's name in PHP's reading.
    ///
    /// Leading blanks are dropped, a `.`, a blank or a `[` becomes `_`, and a name can end at its first
    /// `[`. Like field names, the name is folded further than by any server, and regardless of case.
    private struct Name {
        private var bytes = InlineArray<24, UInt8>(repeating: 0)
        private var count = 0
        private var bracket: Int?

        init(_ piece: Span<UInt8>) {
            var index = 0
            while index < piece.count, piece[index] != UInt8(ascii: "="), count < bytes.count {
                let (byte, length) = PercentByte.decoded(at: index, in: piece)
                index += length
                let isBlank = byte <= 0x20 || byte == UInt8(ascii: "+")
                if isBlank, count == 0 { continue }
                if byte == UInt8(ascii: "["), bracket == nil { bracket = count }
                bytes[count] = Name.folded(byte)
                count += 1
            }
        }

        /// Whether the name is `text`, which must be shorter than the buffer.
        func equals(_ text: String) -> Bool {
            let name = text.utf8.span
            guard name.count == count || name.count == bracket else { return false }
            for index in name.indices where name[index] != bytes[index] { return false }
            return true
        }

        private static func folded(_ byte: UInt8) -> UInt8 {
            if byte &- 0x30 < 10 { return byte }
            let letter = byte | 0x20
            return letter &- 0x61 < 26 ? letter : UInt8(ascii: "_")
        }
    }
}

extension HTTPMethod {
    /// Whether a text is the name of the method, in any case.
    fileprivate func isNamed(by text: String) -> Bool {
        Grammar.equalIgnoringCase(rawValue, text)
    }
}
