import NetworkCore

/// One parameter of a form (`application/x-www-form-urlencoded`).
public struct FormParameter: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value; an empty one counts as absent (RFC 6749 §3.2).
    public var value: String

    /// Makes a parameter.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// `application/x-www-form-urlencoded` in UTF-8 (RFC 6749 appendix B).
package enum FormEncoding {
    /// Encodes the parameters in order, leaving out those with an empty value (RFC 6749 §3.2).
    package static func encode(_ parameters: [FormParameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .map { "\(encode($0.name))=\(encode($0.value))" }
            .joined(separator: "&")
    }

    /// Encodes one name or value: as in HTML, `*` is kept and `~` is encoded.
    static func encode(_ text: String) -> String {
        PercentEncoding.encode(text) { byte in
            switch byte {
            case UInt8(ascii: "*"): true
            case UInt8(ascii: "~"): false
            default: PercentEncoding.isUnreserved(byte)
            }
        }
        .replacing("%20", with: "+")
    }
}

/// Parses `application/x-www-form-urlencoded` text into parameters.
package enum FormDecoding {
    /// Returns the parameters in order.
    ///
    /// A part without `=` has an empty value; a part with an invalid
    /// escape is left out.
    package static func decode(_ text: String) -> [FormParameter] {
        text.split(separator: "&").compactMap { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = unescape(pair[0]), let value = unescape(pair.count > 1 ? pair[1] : "")
            else { return nil }
            return FormParameter(name, value)
        }
    }

    /// Returns the parameters by name, without those whose value is empty, which count as absent
    /// (RFC 6749 §3.2); `nil` if a name occurs twice or an escape is invalid, which makes the form
    /// ambiguous.
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
