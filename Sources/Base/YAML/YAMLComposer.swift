/// Builds a value from the events of a YAML text.
///
/// A mapping keeps all entries, including those with the same key.
package struct YAMLComposer: ~Copyable {
    /// A key that already exists in its mapping.
    package struct RepeatedKey: Sendable {
        package let key: String
        package let mark: YAMLMark
        package let first: YAMLMark
    }

    private var events: YAMLEvents
    private let depthLimit: Int
    private var anchors: [String: YAMLNode] = [:]

    /// The repeated keys found so far, including those before an error.
    package private(set) var repeatedKeys: [RepeatedKey] = []

    /// Creates a composer for a text in UTF-8 without a byte order mark.
    ///
    /// - Parameters:
    ///   - utf8: the text.
    ///   - depthLimit: the maximum nesting depth of values.
    package init(_ utf8: [UInt8], depthLimit: Int) {
        events = YAMLEvents(utf8)
        self.depthLimit = depthLimit
    }

    /// Returns the only document of the text; `nil` if the text is empty.
    package mutating func document() throws(YAMLFault) -> YAMLNode? {
        guard case .documentStart = try events.next().kind else { return nil }
        let root = try node(try events.next(), depth: 0)
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamEnd: return root
            case .documentStart:
                throw YAMLFault(
                    "expected a single document in the stream: but found another document",
                    at: event.mark
                )
            default: continue
            }
        }
    }

    private mutating func node(_ event: YAMLEvent, depth: Int) throws(YAMLFault) -> YAMLNode {
        guard depth < depthLimit else {
            throw YAMLFault("nested deeper than \(depthLimit) levels", at: event.mark)
        }
        let content: YAMLNode.Content
        switch event.kind {
        case .scalar(let scalar): content = .scalar(scalar)
        case .sequenceStart: content = .sequence(try items(depth: depth + 1))
        case .mappingStart: content = .mapping(try entries(depth: depth + 1))
        case .alias(let name):
            guard let node = anchors[name] else {
                throw YAMLFault("found undefined alias", at: event.mark)
            }
            return node
        case .documentStart, .documentEnd, .sequenceEnd, .mappingEnd, .streamEnd:
            preconditionFailure("libyaml balances its events")
        }
        let node = YAMLNode(content: content, mark: event.mark)
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    private mutating func items(depth: Int) throws(YAMLFault) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let event = try events.next()
            if case .sequenceEnd = event.kind { return items }
            items.append(try node(event, depth: depth))
        }
    }

    private mutating func entries(depth: Int) throws(YAMLFault) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var seen: [String: YAMLMark] = [:]
        while true {
            let event = try events.next()
            if case .mappingEnd = event.kind { return entries }
            let key = try node(event, depth: depth)
            if let text = key.text {
                if let first = seen[text] {
                    repeatedKeys.append(RepeatedKey(key: text, mark: event.mark, first: first))
                } else {
                    seen[text] = event.mark
                }
            }
            entries.append(.init(key: key, value: try node(try events.next(), depth: depth)))
        }
    }
}
