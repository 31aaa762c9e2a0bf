/// The JSON Schema of a configuration file (draft 2020-12), for editors.
///
/// An editor reads scalars as YAML 1.1 or 1.2 does, while the readers see only text: `off` may be a boolean
/// and `1.2` a number. A schema is never stricter than the readers, except that it rejects text instead of a
/// number.
package enum JSONSchema {
    /// The schema, as JSON with a line end.
    package static var text: String {
        let root = JSONValue.object([
            ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            ("title", .text("The configuration of netproxy")),
            ("type", .texts(["object"])),
            ("additionalProperties", .literal("false")),
            ("properties", properties(of: RootKeys.self)),
            (
                "anyOf",
                .array(["channels", "include"].map { .object([("required", .texts([$0]))]) })
            ),
            (
                "$defs",
                .object([
                    ("channel", map(ChannelKeys.self)), ("secret", secret),
                    ("duration", matching("^0*[0-9]{1,15}(ms|s|m|h)$")),
                    ("size", matching("^0*[0-9]{1,15}(B|KiB|MiB|GiB)$")),
                ])
            ),
        ])
        return root.text(indent: "") + "\n"
    }

    private static var secret: JSONValue {
        matching("^(file:/|env:[A-Za-z0-9_]|cred:[^/]|exec:/|literal:.)")
    }

    private static func properties(of keys: any SectionKeys.Type) -> JSONValue {
        .object(keys.declared.map { ($0.name, value($0.shape)) })
    }

    private static func map(_ keys: any SectionKeys.Type) -> JSONValue {
        .object([
            ("type", .texts(["object", "null"])), ("additionalProperties", .literal("false")),
            ("properties", properties(of: keys)),
        ])
    }

    private static func value(_ shape: Shape) -> JSONValue {
        switch shape {
        case .text, .opaque: .object([("type", .texts(["string", "number", "boolean", "null"]))])
        case .value: .literal("true")
        case .flag: choices(["true", "false", "off"])
        case .duration: reference("duration")
        case .size: reference("size")
        case .secret: reference("secret")
        case .url: matching("^[Hh][Tt][Tt][Pp][Ss]?://")
        case .path: matching("^/")
        case .share: matching("^[0-9]{1,3}%$")
        case .number(let range):
            .object([
                ("type", .texts(["integer", "string", "null"])), ("pattern", .text("^[0-9]+$")),
                ("minimum", .literal("\(range.lowerBound)")),
                ("maximum", .literal("\(range.upperBound)")),
            ])
        case .choice(let words): choices(words)
        case .list(let item): list(of: value(item))
        case .either(let shapes): .object([("anyOf", .array(shapes.map(value)))])
        case .map(let keys): keys == ChannelKeys.self ? reference("channel") : map(keys)
        case .named(let shape):
            .object([
                ("type", .texts(["object", "null"])), ("additionalProperties", value(shape)),
            ])
        case .records(let keys):
            .object([
                ("type", .texts(["object", "null"])), ("additionalProperties", .literal("false")),
                (
                    "patternProperties",
                    .object([("^[a-z0-9][a-z0-9-]{0,62}$", value(.map(keys)))])
                ),
            ])
        }
    }

    private static func list(of item: JSONValue) -> JSONValue {
        let items = JSONValue.object([("type", .text("array")), ("items", item)])
        return .object([("anyOf", .array([item, items, choices(["off"])]))])
    }

    /// Returns the schema for one of these words, including the values that YAML reads for some of them.
    private static func choices(_ words: [String]) -> JSONValue {
        let read = words.compactMap { word -> JSONValue? in
            switch word {
            case "on", "true": .literal("true")
            case "off": .literal("false")
            default: Double(word) == nil ? nil : .literal(word)
            }
        }
        let values = words.map(JSONValue.text) + read + [.literal("null")]
        return .object([("enum", .array(values))])
    }

    private static func matching(_ pattern: String) -> JSONValue {
        .object([("type", .texts(["string", "null"])), ("pattern", .text(pattern))])
    }

    private static func reference(_ name: String) -> JSONValue {
        .object([("$ref", .text("#/$defs/\(name)"))])
    }
}

/// A JSON value whose members keep their order.
private indirect enum JSONValue {
    case text(String)
    /// A number, a boolean or null.
    case literal(String)
    case array([JSONValue])
    case object([(String, JSONValue)])

    static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.text)) }

    /// Returns the value on several lines; all lines except the first have this indentation.
    func text(indent: String) -> String {
        let inner = indent + "  "
        switch self {
        case .text(let text): return Self.quoted(text)
        case .literal(let literal): return literal
        case .array(let values):
            return "[\(values.map { $0.text(indent: indent) }.joined(separator: ", "))]"
        case .object(let members):
            let lines = members.map { "\(inner)\(Self.quoted($0.0)): \($0.1.text(indent: inner))" }
            return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
        }
    }

    /// Returns the text in quotes; the schema has no control characters.
    private static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
