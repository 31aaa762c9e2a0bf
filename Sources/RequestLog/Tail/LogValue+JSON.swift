import Bytes

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
