/// A value in a line of the log.
package enum LogValue: Sendable, Equatable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([LogValue])
    case object([Member])
    case null

    /// A named value of an object, in the order of the line.
    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: LogValue
    }

    /// The member of an object under a name.
    package subscript(name: String) -> LogValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, if it is one.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The number, if it is one.
    package var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The number without its fraction, if it is one and fits.
    package var integer: Int? {
        number.flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// The values of a list, if it is one.
    package var list: [LogValue]? {
        if case .list(let values) = self { values } else { nil }
    }

    /// How a person would write it: text without quotes, `200`, `1.5`, `true`.
    package var plain: String {
        switch self {
        case .text(let text): text
        case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
        case .flag(let flag): flag ? "true" : "false"
        case .list(let values): values.map(\.plain).joined(separator: ",")
        case .object(let members):
            members.map { "\($0.name)=\($0.value.plain)" }.joined(separator: " ")
        case .null: "null"
        }
    }
}
