import NetworkCore

/// The other way round: `application/x-www-form-urlencoded` text into parameters.
package enum FormDecoding {
    /// The parameters in their order; a part without `=` has an empty value, and one with a broken
    /// escape is left out.
    package static func decode(_ text: String) -> [FormParameter] {
        text.split(separator: "&").compactMap { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = unescape(pair[0]), let value = unescape(pair.count > 1 ? pair[1] : "")
            else { return nil }
            return FormParameter(name, value)
        }
    }

    /// The parameters by their names, without those that have no value, which count as absent
    /// (RFC 6749 §3.2).
    ///
    /// Nothing if a name comes twice or an escape is broken: then it is not certain what was meant.
    static func members(of text: String) -> [String: String]? {
        let parameters = decode(text)
        let names = Set(parameters.map(\.name))
        guard parameters.count == text.split(separator: "&").count,
            parameters.count == names.count
        else { return nil }
        var members: [String: String] = [:]
        for parameter in parameters where !parameter.value.isEmpty {
            members[parameter.name] = parameter.value
        }
        return members
    }

    private static func unescape(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2)
                guard digits.count == 2, let high = digits.first.flatMap(Grammar.hexValue),
                    let low = digits.last.flatMap(Grammar.hexValue)
                else { return nil }
                bytes.append(UInt8(high << 4 | low))
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
