/// The reason for a decoding or encoding error, as a clause with the coding path but without the values.
package enum ErrorReason {
    package static func of(_ error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "'\(key.stringValue)' is missing\(place(context.codingPath))"
        case DecodingError.typeMismatch(let type, let context):
            "expected \(type)\(place(context.codingPath))"
        case DecodingError.valueNotFound(let type, let context):
            "expected \(type), found null\(place(context.codingPath))"
        case DecodingError.dataCorrupted(let context):
            "\(withoutValue(context.debugDescription))\(place(context.codingPath))"
        case EncodingError.invalidValue(_, let context):
            "\(context.debugDescription)\(place(context.codingPath))"
        default: "\(type(of: error))"
        }
    }

    /// Removes the value that the standard library quotes if it is not a raw value of an enumeration.
    ///
    /// The text is "Cannot initialize Color from invalid String value …".
    private static func withoutValue(_ text: String) -> String {
        guard text.hasPrefix("Cannot initialize "), let end = text.firstRange(of: " value ")
        else { return text }
        return "\(text[..<end.lowerBound]) value"
    }

    private static func place(_ path: [any CodingKey]) -> String {
        guard !path.isEmpty else { return "" }
        let names = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
        return " at \(names.joined(separator: "."))"
    }
}
