import NetproxyBytes

/// A value in a log line.
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

    /// The value of an object's member.
    package subscript(name: String) -> LogValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, or nil for another kind of value.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The number, or nil for another kind of value.
    package var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The number without its fraction, or nil if it does not fit or for another kind of value.
    package var integer: Int? {
        number.flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    /// The values of a list, or nil for another kind of value.
    package var list: [LogValue]? {
        if case .list(let values) = self { values } else { nil }
    }

    /// The value as plain text, without quotes: `GET`, `200`, `1.5`, `true`.
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

extension LogValue {
    /// Appends the value as JSON, on one line.
    func append(to output: OutputBuffer) {
        switch self {
        case .text(let text):
            output.append("\"")
            output.append(escaped: text)
            output.append("\"")
        case .list(let values):
            output.append("[")
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(",") }
                value.append(to: output)
            }
            output.append("]")
        case .object(let members):
            output.append("{")
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(",") }
                LogValue.text(member.name).append(to: output)
                output.append(":")
                member.value.append(to: output)
            }
            output.append("}")
        case .number, .flag, .null: output.append(plain)
        }
    }
}
