/// The default of a key, as written in a configuration.
enum Preset: Sendable {
    case scalar(String)
    case list([String])
    /// A map without keys.
    case emptyMap

    /// The default in one line; nil for an empty list or map, whose meaning depends on the key.
    var text: String? {
        switch self {
        case .scalar(let text): text
        case .list(let items): items.isEmpty ? nil : "[\(items.joined(separator: ", "))]"
        case .emptyMap: nil
        }
    }

    /// Returns the default as a node at a place.
    func node(path: @autoclosure () -> String, position: Position) -> ConfigNode {
        func node(_ content: ConfigNode.Content, path: String = "") -> ConfigNode {
            ConfigNode(content: content, path: path, position: position, keyPosition: position)
        }
        // Only the keys of a map need its path, because a default has no errors.
        return switch self {
        case .scalar(let text): node(.scalar(text))
        case .list(let items): node(.list(items.map { node(.scalar($0)) }))
        case .emptyMap: node(.map([]), path: path())
        }
    }
}

extension Preset: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral text: String) { self = .scalar(text) }

    init(integerLiteral number: Int) { self = .scalar("\(number)") }

    init(booleanLiteral flag: Bool) { self = .scalar("\(flag)") }

    init(arrayLiteral items: Preset...) { self = .list(items.compactMap(\.text)) }

    init(dictionaryLiteral entries: (String, Never)...) { self = .emptyMap }
}
