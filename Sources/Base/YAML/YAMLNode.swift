/// A value of a YAML text, with its place; aliases are replaced by the values they stand for.
package struct YAMLNode: Sendable {
    /// How a scalar is written.
    package enum Style: Sendable {
        case plain
        /// In quotes or as a block: always a text.
        case quoted
    }

    /// A value without parts, as text: its type is up to the reader.
    package struct Scalar: Sendable {
        package let text: String
        package let style: Style
    }

    /// One key of a mapping with its value.
    package struct Entry: Sendable {
        package let key: YAMLNode
        package let value: YAMLNode
    }

    package enum Content: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        case mapping([Entry])
    }

    package let content: Content
    package let mark: YAMLMark

    /// The text, if the value is a scalar.
    package var text: String? {
        if case .scalar(let scalar) = content { scalar.text } else { nil }
    }
}
