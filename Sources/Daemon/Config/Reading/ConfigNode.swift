/// A value of the configuration text, with its position.
///
/// It is the intermediate form between YAML and typed values; `defaults` are merged in this form.
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

        /// The place of errors about the key.
        var place: Place { Place(position: keyPosition, key: value.path) }
    }

    let content: Content
    /// The original key path of the value, even if merging moved it.
    let path: String
    let position: Position
    /// The position of the value's key.
    let keyPosition: Position

    /// The place of errors about the value.
    var place: Place { Place(position: position, key: path) }

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

    /// The value for error messages.
    var found: String {
        switch content {
        case .null: "nothing"
        case .scalar(let text): "'\(Self.printable(text))'"
        case .list: "a list"
        case .map: "a map"
        }
    }

    /// The kind of the value, for error messages if the value itself may be a misplaced secret.
    var kind: String {
        if case .scalar = content { "a text" } else { found }
    }

    /// Returns the value of a key, or nil if it is absent or null.
    func child(_ key: String) -> ConfigNode? {
        entries?.first { $0.key == key && !$0.value.isNull }?.value
    }

    /// Returns the key for error messages; a text that does not look like a key may be a misplaced secret.
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

    /// Returns the text on one line, without control characters and cut off after 80 characters.
    static func printable(_ text: String) -> String {
        withoutControls(text.count > 80 ? text.prefix(80) + "…" : text[...])
    }

    /// Returns the text with a replacement character for every control character and line separator.
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

/// The position and the key path of an error.
struct Place {
    let position: Position
    let key: String
}
