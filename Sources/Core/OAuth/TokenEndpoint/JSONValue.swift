/// A value of any JSON document.
enum JSONValue: Decodable {
    case nothing
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .nothing
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let list = try? value.decode([JSONValue].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    var isFalse: Bool {
        switch self {
        case .flag(let flag): !flag
        case .text(let text): text == "false"
        default: false
        }
    }

    /// The part that can be shown: a nonempty text, or a number.
    var shown: String? {
        switch self {
        case .text(let text): text.isEmpty ? nil : text
        case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
        default: nil
        }
    }

    /// Returns the value at a JSON pointer (RFC 6901); `nil` if there is none.
    func value(at pointer: String) -> JSONValue? {
        guard !pointer.isEmpty else { return self }
        guard pointer.hasPrefix("/") else { return nil }
        var value = self
        for part in pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            let name = String(part).replacing("~1", with: "/").replacing("~0", with: "~")
            switch value {
            case .object(let members):
                guard let member = members[name] else { return nil }
                value = member
            case .list(let items):
                guard let index = Int(name), items.indices.contains(index) else { return nil }
                value = items[index]
            case .nothing, .flag, .number, .text: return nil
            }
        }
        return value
    }
}
