import NetproxyYAML

/// Parses YAML into ``ConfigNode``s; nothing else uses the YAML parser.
///
/// Scalars remain text: YAML 1.1 would read `off` as a boolean and `1.20` as a number.
struct YAMLText {
    /// The maximum size, 4 MiB: a hundred times that of any configuration written by hand.
    static let sizeLimit = ByteCount.mebibytes(4)
    /// The maximum depth; a valid configuration has at most 7 levels.
    static let depthLimit = 32
    /// The maximum number of values after expanding aliases, so that a few lines cannot become a billion
    /// values.
    static let nodeLimit = 100_000

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let file: String
    private let source: Int
    private var nodes = 0
    /// The errors of duplicate keys.
    private(set) var duplicates: Set<ConfigurationError> = []

    /// Creates a parser of one file; `source` is its index among the files of the configuration.
    init(file: String, source: Int = 0) {
        self.file = file
        self.source = source
    }

    /// Decodes the bytes of a file as UTF-8.
    static func text(of bytes: [UInt8], file: String) throws(ConfigurationErrors) -> String {
        // A file above the limit may be cut off anywhere; it is rejected for its size.
        let isWhole = bytes.count <= sizeLimit.bytes
        // YAML 1.2 §5.2 allows a byte order mark at the start, and some editors write one.
        let bytes = bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(3)) : bytes
        guard
            let text = isWhole
                ? String(validating: bytes, as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
        else { throw .invalidUTF8(bytes, file: file) }
        return text
    }

    /// Parses the text, or returns nil if it is empty.
    mutating func parse(_ text: String) throws(ConfigurationError) -> ConfigNode? {
        let start = position(YAMLMark(line: 1, column: 1))
        guard text.utf8.count <= Self.sizeLimit.bytes else {
            throw error("larger than \(Self.sizeLimit)", at: start)
        }
        var composer = YAMLComposer(Array(text.utf8), depthLimit: Self.depthLimit)
        do throws(ConfigurationError) {
            guard let root = try document(of: &composer, text) else { return nil }
            return try convert(root, path: "", key: start, depth: 0)
        } catch {
            // Their key paths are unknown, because the rest of the text is invalid.
            for key in composer.repeatedKeys {
                let name = ConfigNode.printable(key.key)
                duplicates.insert(
                    self.error(
                        "duplicate key '\(name)', first used in line \(key.first.line)",
                        at: position(key.mark)
                    )
                )
            }
            throw error
        }
    }

    private func document(
        of composer: inout YAMLComposer,
        _ text: String
    ) throws(ConfigurationError) -> YAMLNode? {
        do throws(YAMLFault) {
            return try composer.document()
        } catch {
            let fault = SyntaxAdvice(text).explained(error)
            throw self.error(fault.message, at: position(fault.mark))
        }
    }

    private mutating func convert(
        _ node: YAMLNode,
        path: String,
        key: Position,
        depth: Int
    ) throws(ConfigurationError) -> ConfigNode {
        let position = self.position(node.mark)
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
            let keyPosition = position(entry.key.mark)
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
            // Keep the last of equal keys, and read only its value.
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

    private func position(_ mark: YAMLMark) -> Position {
        Position(source: source, line: mark.line, column: mark.column)
    }

    private func error(_ message: String, at position: Position) -> ConfigurationError {
        ConfigurationError(file: file, position: position, key: "", message: message)
    }
}
