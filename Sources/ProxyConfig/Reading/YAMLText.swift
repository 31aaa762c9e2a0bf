import Yams

/// Parses YAML into ``ConfigNode``s; nothing else uses the YAML library.
///
/// Scalars stay text: YAML 1.1 would read `off` as a boolean and `1.20` as a number.
struct YAMLText {
    /// 4 MiB: a hundred times the size of any configuration written by hand.
    static let sizeLimit = ByteCount.mebibytes(4)
    /// A valid configuration has at most 7 levels.
    static let depthLimit = 32
    /// Counted after aliases are expanded, so that a few lines cannot become a billion values.
    static let nodeLimit = 100_000

    /// The most duplicate keys reported at once; each costs another pass.
    private static let duplicateLimit = 16

    private let file: String
    private var nodes = 0
    /// The errors of duplicate keys.
    private(set) var duplicates: Set<ConfigurationError> = []
    /// The duplicate keys that were renamed, by position; the last of equal keys is kept.
    private var renamedKeys: [Position: String] = [:]

    init(file: String) {
        self.file = file
    }

    /// Parses the text; nil if it is empty.
    mutating func parse(_ text: String) throws(ConfigurationError) -> ConfigNode? {
        let start = Position.start
        guard text.utf8.count <= Self.sizeLimit.bytes else {
            throw error("larger than \(Self.sizeLimit)", at: start)
        }
        do throws(ConfigurationError) {
            guard let root = try composed(text) else { return nil }
            return try convert(root, path: "", key: start, depth: 0)
        } catch {
            // Their key paths are unknown, because the rest cannot be parsed.
            for (place, key) in renamedKeys {
                duplicates.insert(self.error("duplicate key '\(key)'", at: place))
            }
            throw error
        }
    }

    /// Parses the text despite duplicate keys, at which the library stops: the first of two equal keys
    /// is renamed to a name of the same length, so that all positions stay the same.
    private mutating func composed(_ text: String) throws(ConfigurationError) -> Node? {
        var text = text
        while true {
            do {
                return try compose(yaml: text)
            } catch {
                let failure = located(error)
                guard case .duplicatedKeysInMapping(let keys, _)? = error as? YamlError,
                    let key = keys.first, renamedKeys.count < Self.duplicateLimit,
                    let renamed = Self.renaming(failure.position, in: text, renamedKeys.count),
                    renamedKeys.updateValue(key, forKey: failure.position) == nil
                else { throw failure }
                text = renamed
            }
        }
    }

    /// The text with the key's first character replaced by one that no other key has; nil if the key is
    /// not found at its position.
    private static func renaming(_ key: Position, in text: String, _ number: Int) -> String? {
        var scalars = text.unicodeScalars
        var place = scalars.startIndex
        for _ in 1..<key.line {
            guard let end = scalars[place...].firstIndex(of: "\n") else { return nil }
            place = scalars.index(after: end)
        }
        let isQuoted =
            scalars.index(place, offsetBy: key.column - 1, limitedBy: scalars.endIndex)
            .map { scalars[$0...].first == "\"" || scalars[$0...].first == "'" } ?? false
        let offset = isQuoted ? key.column : key.column - 1
        guard let first = scalars.index(place, offsetBy: offset, limitedBy: scalars.endIndex),
            first < scalars.endIndex, !"\n\"'".unicodeScalars.contains(scalars[first]),
            // From the private use area, which no key of the configuration uses.
            let unique = Unicode.Scalar(UInt32(0xE000 + number))
        else { return nil }
        scalars.replaceSubrange(first...first, with: [unique])
        return String(scalars)
    }

    private mutating func convert(
        _ node: Node,
        path: String,
        key: Position,
        depth: Int
    ) throws(ConfigurationError) -> ConfigNode {
        let position = node.mark.map { Position(line: $0.line, column: $0.column) } ?? key
        nodes += 1
        guard depth < Self.depthLimit else {
            throw error("nested deeper than \(Self.depthLimit) levels", at: position)
        }
        guard nodes <= Self.nodeLimit else {
            throw error("more than \(Self.nodeLimit) values", at: position)
        }
        let content: ConfigNode.Content
        switch node {
        case .scalar(let scalar):
            content = Self.isNull(scalar) ? .null : .scalar(scalar.string)
        case .sequence(let sequence):
            var items: [ConfigNode] = []
            for (index, item) in sequence.enumerated() {
                items.append(
                    try convert(
                        item,
                        path: "\(path)[\(index)]",
                        key: position,
                        depth: depth + 1
                    )
                )
            }
            content = .list(items)
        case .mapping(let mapping):
            content = .map(try entries(of: mapping, path: path, at: position, depth: depth))
        case .alias:
            throw error("an alias has no anchor", at: position)
        }
        return ConfigNode(content: content, path: path, position: position, keyPosition: key)
    }

    private mutating func entries(
        of mapping: Node.Mapping,
        path: String,
        at position: Position,
        depth: Int
    ) throws(ConfigurationError) -> [ConfigNode.Entry] {
        var entries: [ConfigNode.Entry] = []
        // The line of the first occurrence of each key.
        var seen: [String: Int] = [:]
        for (key, value) in mapping {
            let keyPosition =
                key.mark.map { Position(line: $0.line, column: $0.column) } ?? position
            guard let name = renamedKeys[keyPosition] ?? key.scalar?.string else {
                throw error("a key must be a word, not a list or a map", at: keyPosition)
            }
            let valuePath = path.isEmpty ? name : "\(path).\(name)"
            let first = seen[name]
            if let first {
                duplicates.insert(
                    ConfigurationError(
                        file: file,
                        position: keyPosition,
                        key: ConfigNode.printable(valuePath),
                        message: "duplicate key, first used in line \(first)"
                    )
                )
            } else {
                seen[name] = keyPosition.line
            }
            if renamedKeys[keyPosition] != nil { continue }
            // The library also compares tags, so that `1.2` and `"1.2"` are different keys to it.
            entries.removeAll { $0.key == name }
            let node = try convert(value, path: valuePath, key: keyPosition, depth: depth + 1)
            entries.append(.init(key: name, keyPosition: keyPosition, value: node))
        }
        return entries
    }

    private static func isNull(_ scalar: Node.Scalar) -> Bool {
        switch scalar.style {
        case .plain, .any: ["", "~", "null", "Null", "NULL"].contains(scalar.string)
        default: false
        }
    }

    private func located(_ failure: any Error) -> ConfigurationError {
        switch failure as? YamlError {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _):
            let place = context.map { "\($0.text): " } ?? ""
            return error(place + problem, at: Position(line: mark.line, column: mark.column))
        case .composer(let context, let problem, let mark, _):
            // "expected a single document in the stream: but found another document".
            let place = context.map { "\($0.text): " } ?? ""
            return error(place + problem, at: Position(line: mark.line, column: mark.column))
        case .duplicatedKeysInMapping(let keys, let context):
            let key = ConfigNode.printable(keys.first ?? "")
            let position = Position(line: context.mark.line, column: context.mark.column)
            return error("duplicate key '\(key)'", at: position)
        case .reader(let problem, let offset, _, let yaml):
            return error(problem, at: Self.position(ofCharacter: offset, in: yaml))
        default:
            return error("not valid YAML", at: .start)
        }
    }

    private static func position(ofCharacter offset: Int?, in yaml: String) -> Position {
        let before = yaml.prefix(offset ?? 0)
        let line = before.count { $0.isNewline } + 1
        let column = before.reversed().prefix { !$0.isNewline }.count + 1
        return Position(line: line, column: column)
    }

    private func error(_ message: String, at position: Position) -> ConfigurationError {
        ConfigurationError(file: file, position: position, key: "", message: message)
    }
}
