import YAML

/// Parses YAML into ``ConfigNode``s; nothing else uses the YAML parser.
///
/// Scalars stay text: YAML 1.1 would read `off` as a boolean and `1.20` as a number.
struct YAMLText {
    /// 4 MiB: a hundred times the size of any configuration written by hand.
    static let sizeLimit = ByteCount.mebibytes(4)
    /// A valid configuration has at most 7 levels.
    static let depthLimit = 32
    /// Counted after aliases are expanded, so that a few lines cannot become a billion values.
    static let nodeLimit = 100_000

    private let file: String
    private var nodes = 0
    /// The errors of duplicate keys.
    private(set) var duplicates: Set<ConfigurationError> = []

    init(file: String) {
        self.file = file
    }

    /// Parses the text; nil if it is empty.
    mutating func parse(_ text: String) throws(ConfigurationError) -> ConfigNode? {
        let start = Position.start
        guard text.utf8.count <= Self.sizeLimit.bytes else {
            throw error("larger than \(Self.sizeLimit)", at: start)
        }
        var composer = YAMLComposer(Array(text.utf8), depthLimit: Self.depthLimit)
        do throws(ConfigurationError) {
            guard let root = try Self.document(of: &composer, in: file) else { return nil }
            return try convert(root, path: "", key: start, depth: 0)
        } catch {
            // Their key paths are unknown, because the rest cannot be parsed.
            for key in composer.repeatedKeys {
                let name = ConfigNode.printable(key.key)
                duplicates.insert(
                    self.error(
                        "duplicate key '\(name)', first used in line \(key.first.line)",
                        at: Position(key.mark)
                    )
                )
            }
            throw error
        }
    }

    private static func document(
        of composer: inout YAMLComposer,
        in file: String
    ) throws(ConfigurationError) -> YAMLNode? {
        do throws(YAMLFault) {
            return try composer.document()
        } catch {
            throw ConfigurationError(
                file: file,
                position: Position(error.mark),
                key: "",
                message: error.message
            )
        }
    }

    private mutating func convert(
        _ node: YAMLNode,
        path: String,
        key: Position,
        depth: Int
    ) throws(ConfigurationError) -> ConfigNode {
        let position = Position(node.mark)
        nodes += 1
        guard depth < Self.depthLimit else {
            throw error("nested deeper than \(Self.depthLimit) levels", at: position)
        }
        guard nodes <= Self.nodeLimit else {
            throw error("more than \(Self.nodeLimit) values", at: position)
        }
        let content: ConfigNode.Content
        switch node.content {
        case .scalar(let scalar):
            content = Self.isNull(scalar) ? .null : .scalar(scalar.text)
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
            content = .map(try entries(of: mapping, path: path, depth: depth))
        }
        return ConfigNode(content: content, path: path, position: position, keyPosition: key)
    }

    private mutating func entries(
        of mapping: [YAMLNode.Entry],
        path: String,
        depth: Int
    ) throws(ConfigurationError) -> [ConfigNode.Entry] {
        var entries: [ConfigNode.Entry] = []
        // The line of the first occurrence of each key.
        var seen: [String: Int] = [:]
        var last: [String: Int] = [:]
        for (index, entry) in mapping.enumerated() {
            if let name = entry.key.text { last[name] = index }
        }
        for (index, entry) in mapping.enumerated() {
            let keyPosition = Position(entry.key.mark)
            guard let name = entry.key.text else {
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
            // The last of equal keys is kept, and only its value is read.
            guard last[name] == index else { continue }
            let node = try convert(entry.value, path: valuePath, key: keyPosition, depth: depth + 1)
            entries.append(.init(key: name, keyPosition: keyPosition, value: node))
        }
        return entries
    }

    private static func isNull(_ scalar: YAMLNode.Scalar) -> Bool {
        switch scalar.style {
        case .plain: ["", "~", "null", "Null", "NULL"].contains(scalar.text)
        case .quoted: false
        }
    }

    private func error(_ message: String, at position: Position) -> ConfigurationError {
        ConfigurationError(file: file, position: position, key: "", message: message)
    }
}

extension Position {
    fileprivate init(_ mark: YAMLMark) {
        self.init(line: mark.line, column: mark.column)
    }
}
