/// One field line: a valid name and a valid value.
public struct HTTPField: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let name: HTTPFieldName
    /// The value, without outer white space.
    public let value: String

    /// Creates a field; returns `nil` if the value has a control byte (CR, LF, NUL, …) or outer white space.
    ///
    /// A value is validated, never repaired (RFC 9110 §5.5).
    public init?(_ name: HTTPFieldName, _ value: String) {
        guard !name.isUnfit, Grammar.isFieldValue(value) else { return nil }
        self.name = name
        self.value = value
    }

    /// Creates a field; if the value is not a valid field value, the field cannot be sent.
    package init(checking name: HTTPFieldName, _ value: String) {
        self = HTTPField(name, value) ?? HTTPField(unfit: name)
    }

    /// Creates a placeholder for a field that cannot be sent.
    package init(unfit name: HTTPFieldName) {
        self.init(validated: HTTPFieldName(unfit: name.text), "")
    }

    package init(validated name: HTTPFieldName, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The field line; the value of a credential field is redacted.
    public var description: String {
        "\(name): \(name.isConfidential ? "<redacted>" : value)"
    }
}

extension HTTPField: CustomReflectable {
    /// The name and the value; the value of a credential field is redacted.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["name": name, "value": name.isConfidential ? "<redacted>" : value]
        )
    }
}
