/// A value of a YAML text, with its position.
///
/// Aliases are replaced by the referenced values.
package struct YAMLNode: Sendable {
    /// The notation of a scalar.
    package enum Style: Sendable {
        case plain
        /// Quoted or a block scalar: always a string.
        case quoted
    }

    /// A scalar as text; the reader determines its type.
    package struct Scalar: Sendable {
        package let text: String
        package let style: Style
    }

    /// A key of a mapping and its value.
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
