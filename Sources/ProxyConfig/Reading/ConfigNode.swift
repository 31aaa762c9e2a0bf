/// A value of the configuration text that remembers where it stands.
///
/// Between YAML and the typed values: merging and error positions need it, nothing else does.
struct ConfigNode {
    enum Content {
        case null
        case scalar(String)
        case list([ConfigNode])
        case map([Entry])
    }

    struct Entry {
        let key: String
        let keyPosition: Position
        let value: ConfigNode
    }

    let content: Content
    /// The path from the root as it is written, also after a merge moved the node.
    let path: String
    let position: Position
    /// Where the key stands that the value belongs to.
    let keyPosition: Position

    var isNull: Bool {
        if case .null = content { true } else { false }
    }

    var text: String? {
        if case .scalar(let text) = content { text } else { nil }
    }

    var items: [ConfigNode]? {
        if case .list(let items) = content { items } else { nil }
    }

    var entries: [Entry]? {
        if case .map(let entries) = content { entries } else { nil }
    }

    /// What an error calls the value.
    var found: String {
        switch content {
        case .null: "nothing"
        case .scalar(let text): "'\(Self.printable(text))'"
        case .list: "a list"
        case .map: "a map"
        }
    }

    /// What an error calls a value that may be a secret in the wrong place.
    var kind: String {
        if case .scalar = content { "a text" } else { found }
    }

    /// The value of a key; nil when it is absent or null.
    func child(_ key: String) -> ConfigNode? {
        entries?.first { $0.key == key && !$0.value.isNull }?.value
    }

    /// A key as an error shows it: what is written like none may be a secret that lost its place.
    static func keyName(_ key: String) -> String {
        let isName = key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "<"):
                true
            default: false
            }
        }
        return isName && key.utf8.count <= 40 ? key : "…"
    }

    /// The text on one line: an error never spans two, nor moves a terminal's cursor.
    static func printable(_ text: String) -> String {
        withoutControls(text.count > 80 ? text.prefix(80) + "…" : text[...])
    }

    /// The text with a replacement character for every control and line separator.
    static func withoutControls(_ text: some StringProtocol) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}

/// A place in a text; both numbers begin at 1, columns count Unicode scalars.
package struct Position: Sendable, Hashable, Comparable {
    /// Where a text begins.
    package static let start = Position(line: 1, column: 1)

    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: Position, right: Position) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}
