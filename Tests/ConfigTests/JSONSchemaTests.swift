import FoundationEssentials
import NetproxyConfig
import Testing

/// The part of a JSON Schema that netproxy's schema uses.
private indirect enum Schema: Decodable {
    case members([String: Schema])
    case list([Schema])
    case text(String)
    case other

    init(from decoder: any Decoder) throws {
        if let members = try? [String: Schema](from: decoder) {
            self = .members(members)
        } else if let list = try? [Schema](from: decoder) {
            self = .list(list)
        } else if let text = try? String(from: decoder) {
            self = .text(text)
        } else {
            self = .other
        }
    }

    subscript(name: String) -> Schema? {
        if case .members(let members) = self { members[name] } else { nil }
    }

    /// All names in the schema.
    var names: Set<String> {
        switch self {
        case .members(let members):
            members.reduce(into: Set(members.keys)) { $0.formUnion($1.value.names) }
        case .list(let list): list.reduce(into: []) { $0.formUnion($1.names) }
        case .text, .other: []
        }
    }
}

/// Tests of the schema that `check --schema` prints; Tests/Interop validates the example with it.
@Suite struct JSONSchemaTests {
    private func schema() throws -> Schema {
        try JSONDecoder().decode(Schema.self, from: Data(JSONSchema.text.utf8))
    }

    @Test func `the schema is JSON and names its dialect`() throws {
        guard case .text(let dialect)? = try schema()["$schema"] else {
            Issue.record("no dialect")
            return
        }
        #expect(dialect == "https://json-schema.org/draft/2020-12/schema")
    }

    @Test func `the schema contains every key`() throws {
        let names = try schema().names
        for path in ConfigurationSchema.keys.map(\.path) {
            let key = try #require(path.split(separator: ".").last)
            #expect(names.contains(String(key)), "\(path)")
        }
    }

    @Test func `the schema refers to its definitions`() throws {
        let definitions = try #require(try schema()["$defs"])
        for name in ["channel", "secret", "duration", "size"] {
            #expect(definitions[name] != nil)
            #expect(JSONSchema.text.contains("\"#/$defs/\(name)\""))
        }
    }
}
