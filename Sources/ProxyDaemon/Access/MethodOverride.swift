import Bytes
import HTTPMessage
import NetworkCore

/// What makes some servers use another method than that of the request.
enum MethodOverride {
    private static let fields: [HTTPFieldName] = [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Method",
    ]
    /// Parameters of a query that frameworks take the method from, in the spelling of `Name`.
    private static let parameters = [
        "_method", "x_http_method_override", "x_http_method", "x_method_override",
    ]
    /// Facebook's name for it: a method only with the name of one, for many APIs have another use for
    /// it.
    private static let ambiguous = "method"
    private static let writing: [HTTPMethod] = [.post, .put, .patch, .delete]

    /// The first field that asks for another method.
    static func field(in headers: HTTPHeaders) -> String? {
        headers.firstName(like: fields)
    }

    /// The parameter of a target's query that asks for another method.
    ///
    /// - Parameters:
    ///   - target: path and query.
    ///   - methods: those that are allowed.
    /// - Returns: its name.
    static func parameter(of target: String, beyond methods: [HTTPMethod]) -> String? {
        let bytes = target.utf8.span
        var index = 0
        while index < bytes.count, bytes[index] != UInt8(ascii: "?") { index += 1 }
        while index < bytes.count {
            index += 1
            let start = index
            while index < bytes.count, !isSeparator(bytes[index]) { index += 1 }
            let piece = bytes.extracting(start..<index)
            let name = Name(piece)
            if let found = parameters.first(where: name.equals) { return found }
            if name.equals(ambiguous), names(piece, oneOf: writing.filter { !$0.isAmong(methods) })
            {
                return ambiguous
            }
        }
        return nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: ";")
    }

    /// Whether the value of a parameter is the name of a method, in any case.
    private static func names(_ piece: Span<UInt8>, oneOf methods: [HTTPMethod]) -> Bool {
        let text = piece.string(in: 0..<piece.count)
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let value = PercentEncoding.decoded(text[text.utf8.index(after: equals)...])
        return methods.contains { Grammar.equalIgnoringCase($0.rawValue, value) }
    }

    /// The beginning of a parameter's name, as PHP and its like read it: leading blanks are dropped, a
    /// `.`, a blank or a `[` becomes `_`, and a name may end at its first `[`.
    ///
    /// Like field names, it is folded further than any server does, in any case.
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

        /// Whether it is one of the names above, which are shorter than what is kept of it.
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
