import FoundationEssentials

/// The tree of an encodable value, the input for queries.
indirect enum ValueTree {
    case null
    case bool(Bool)
    case text(String)
    case date(Date)
    case list([ValueTree])
    case map([(String, ValueTree)])

    /// Encodes a value to a tree.
    init(encoding value: any Encodable) throws {
        let node = TreeNode()
        try node.take(value, at: [])
        self = node.tree
    }
}

/// A type whose fields have no order of their own.
private protocol Unordered {}
extension Dictionary: Unordered {}

/// A mutable node of the tree.
private final class TreeNode {
    private enum Content {
        case leaf(ValueTree)
        case list([TreeNode])
        case map([(String, TreeNode)])
    }

    private var content = Content.leaf(.null)
    private var isUnordered = false

    var tree: ValueTree {
        switch content {
        case .leaf(let leaf): leaf
        case .list(let nodes): .list(nodes.map(\.tree))
        case .map(let fields):
            .map((isUnordered ? fields.sorted { $0.0 < $1.0 } : fields).map { ($0.0, $0.1.tree) })
        }
    }

    var count: Int {
        if case .list(let nodes) = content { return nodes.count }
        return 0
    }

    func setLeaf(_ leaf: ValueTree) { content = .leaf(leaf) }

    func becomeList() {
        if case .list = content { return }
        content = .list([])
    }

    func becomeMap() {
        if case .map = content { return }
        content = .map([])
    }

    func element() -> TreeNode {
        let node = TreeNode()
        guard case .list(var nodes) = content else { return node }
        nodes.append(node)
        content = .list(nodes)
        return node
    }

    func field(_ key: String) -> TreeNode {
        let node = TreeNode()
        guard case .map(var fields) = content else { return node }
        if let index = fields.firstIndex(where: { $0.0 == key }) {
            fields[index].1 = node
        } else {
            fields.append((key, node))
        }
        content = .map(fields)
        return node
    }

    func take(_ value: any Encodable, at path: [any CodingKey]) throws {
        switch value {
        case let value as Bool: setLeaf(.bool(value))
        case let value as String: setLeaf(.text(value))
        case let value as any BinaryInteger: setLeaf(.text("\(value)"))
        case let value as Double: try takeNumber(value, path)
        case let value as Float: try takeNumber(value, path)
        case let value as Decimal: setLeaf(.text(value.description))
        case let value as Date: setLeaf(.date(value))
        case let value as Data: setLeaf(.text(value.base64EncodedString()))
        case let value as URL: setLeaf(.text(value.absoluteString))
        default:
            isUnordered = value is any Unordered
            try value.encode(to: TreeEncoder(node: self, codingPath: path))
        }
    }

    private func takeNumber(
        _ value: some BinaryFloatingPoint & Encodable & CustomStringConvertible,
        _ path: [any CodingKey]
    ) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: path, debugDescription: "it is no finite number")
            )
        }
        setLeaf(.text(value.description))
    }
}

private struct TreeEncoder: Encoder {
    let node: TreeNode
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeMap()
        return KeyedEncodingContainer(TreeFields<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeList()
        return TreeElements(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        TreeValue(node: node, codingPath: codingPath)
    }
}

private struct TreeFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: TreeNode
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) throws {
        node.field(key.stringValue).setLeaf(.null)
    }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try node.field(key.stringValue).take(value, at: codingPath + [key])
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        TreeEncoder(node: node.field(key.stringValue), codingPath: codingPath + [key])
            .container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        TreeEncoder(node: node.field(key.stringValue), codingPath: codingPath + [key])
            .unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        TreeEncoder(node: node.field("super"), codingPath: codingPath)
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        TreeEncoder(node: node.field(key.stringValue), codingPath: codingPath + [key])
    }
}

private struct TreeElements: UnkeyedEncodingContainer {
    let node: TreeNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    mutating func encodeNil() throws { node.element().setLeaf(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try node.element().take(value, at: codingPath)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy keyType: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        TreeEncoder(node: node.element(), codingPath: codingPath).container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        TreeEncoder(node: node.element(), codingPath: codingPath).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        TreeEncoder(node: node.element(), codingPath: codingPath)
    }
}

private struct TreeValue: SingleValueEncodingContainer {
    let node: TreeNode
    let codingPath: [any CodingKey]

    mutating func encodeNil() throws { node.setLeaf(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try node.take(value, at: codingPath)
    }
}
