/// One field line: a name and a value that are fit for the wire.
public struct HTTPField: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let name: HTTPFieldName
    /// The value, without outer white space.
    public let value: String

    /// Makes a field, or nothing if the value holds a control byte (CR, LF, NUL, …) or outer white
    /// space: it is validated, never repaired (RFC 9110 §5.5).
    public init?(_ name: HTTPFieldName, _ value: String) {
        guard Grammar.isFieldValue(value) else { return nil }
        self.name = name
        self.value = value
    }

    package init(validated name: HTTPFieldName, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The field line, with the value of a credential field left out.
    public var description: String {
        "\(name): \(name.holdsCredential ? "<redacted>" : value)"
    }
}

extension HTTPField: CustomReflectable {
    /// The name, and the value where that may be shown.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["name": name, "value": name.holdsCredential ? "<redacted>" : value]
        )
    }
}
