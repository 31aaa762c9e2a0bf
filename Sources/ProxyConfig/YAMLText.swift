import Yams

/// Turns YAML into ``ConfigNode``s; the only place that knows the YAML library.
///
/// Every scalar is its text: YAML 1.1 would read `off` as a boolean and `1.20` as a number.
struct YAMLText {
    /// 4 MiB: a hundred times the largest configuration anybody wrote by hand.
    static let sizeLimit = ByteCount.mebibytes(4)
    /// The configuration itself is at most 7 deep.
    static let depthLimit = 32
    /// Counted after aliases are expanded, so that a few lines cannot become a billion nodes.
    static let nodeLimit = 100_000

    private let file: String
    private var nodes = 0

    /// Reads the text; nil when there is nothing in it.
    static func parse(_ text: String, file: String) throws(ConfigurationError) -> ConfigNode? {
        var reader = YAMLText(file: file)
        guard text.utf8.count <= sizeLimit.bytes else {
            throw reader.error("larger than \(sizeLimit)", at: Position(line: 1, column: 1))
        }
        let root: Node?
        do {
            root = try compose(yaml: text)
        } catch {
            throw reader.located(error)
        }
        guard let root else { return nil }
        let start = Position(line: 1, column: 1)
        return try reader.convert(root, path: "", key: start, depth: 0)
    }

    private init(file: String) {
        self.file = file
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
        var seen: Set<String> = []
        for (key, value) in mapping {
            let keyPosition =
                key.mark.map { Position(line: $0.line, column: $0.column) } ?? position
            guard let name = key.scalar?.string else {
                throw error("a key must be a word, not a list or a map", at: keyPosition)
            }
            // The library compares tags too: to it, `1.2` and `"1.2"` are different keys.
            guard seen.insert(name).inserted else {
                throw error("duplicate key '\(ConfigNode.printable(name))'", at: keyPosition)
            }
            let valuePath = path.isEmpty ? name : "\(path).\(name)"
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
        case .composer(_, let problem, let mark, _):
            return error(problem, at: Position(line: mark.line, column: mark.column))
        case .duplicatedKeysInMapping(let keys, let context):
            let key = ConfigNode.printable(keys.first ?? "")
            let position = Position(line: context.mark.line, column: context.mark.column)
            return error("duplicate key '\(key)'", at: position)
        case .reader(let problem, let offset, _, let yaml):
            return error(problem, at: Self.position(ofCharacter: offset, in: yaml))
        default:
            return error("not readable as YAML", at: Position(line: 1, column: 1))
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
