import FoundationEssentials

/// Parameters whose types are known at run time only, for a query, a form or a JSON body.
///
///     .json(try Parameters(dictionary))
///
/// Values are strings, numbers, Booleans, `Date`, `Data`, `URL`, `UUID`, optionals, and arrays and
/// dictionaries of
/// all of these. They are sorted by name.
public struct Parameters: Encodable, Sendable {
    private let value: Value

    /// Creates parameters from a dictionary.
    ///
    /// - Throws: `http_request_error` with the name and type of the parameter whose value cannot be encoded.
    public init(_ values: [String: Any]) throws(NetworkError) {
        value = try Value(values, at: "")
    }

    /// Encodes the values in the encoder's own format.
    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

private indirect enum Value: Encodable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case date(Date)
    case data(Data)
    case list([Value])
    case map([(name: String, value: Value)])

    init(_ value: Any, at path: String) throws(NetworkError) {
        switch value {
        case let value as Bool: self = .bool(value)
        case let value as String: self = .text(value)
        case let value as Substring: self = .text(String(value))
        case let value as any BinaryInteger:
            if let small = Int64(exactly: value) {
                self = .integer(small)
            } else if let large = UInt64(exactly: value) {
                self = .unsigned(large)
            } else {
                throw Value.unsupported("\(value)", path)
            }
        case let value as any BinaryFloatingPoint: self = .number(Double(value))
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(value)
        case let value as URL: self = .text(value.absoluteString)
        case let value as UUID: self = .text(value.uuidString)
        case let value as [String: Any]:
            var entries: [(name: String, value: Value)] = []
            for (name, value) in value.sorted(by: { $0.key < $1.key }) {
                let place = path.isEmpty ? name : "\(path).\(name)"
                entries.append((name, try Value(value, at: place)))
            }
            self = .map(entries)
        case let value as [Any]:
            var items: [Value] = []
            for (index, item) in value.enumerated() {
                items.append(try Value(item, at: "\(path)[\(index)]"))
            }
            self = .list(items)
        default:
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else {
                throw Value.unsupported("a value of type \(type(of: value))", path)
            }
            guard let content = mirror.children.first?.value else {
                self = .null
                return
            }
            self = try Value(content, at: path)
        }
    }

    private static func unsupported(_ what: String, _ path: String) -> NetworkError {
        .unsendable("the parameter \(path) is \(what), which cannot be encoded")
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .list(let items):
            var container = encoder.unkeyedContainer()
            for item in items { try container.encode(item) }
        case .map(let entries):
            var container = encoder.container(keyedBy: Name.self)
            for entry in entries {
                try container.encode(entry.value, forKey: Name(stringValue: entry.name))
            }
        case .null, .bool, .integer, .unsigned, .number, .text, .date, .data:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .text(let value): try container.encode(value)
            case .date(let value): try container.encode(value)
            case .data(let value): try container.encode(value)
            case .null, .list, .map: try container.encodeNil()
            }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
