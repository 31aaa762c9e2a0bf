import Bytes
import NetworkCore

/// Writes as much of a query as the mode allows; percent-encoded text is kept as it is.
struct QueryText {
    let mode: QueryMode
    let redaction: Redaction

    /// Appends the inside of a JSON string.
    func append(_ bytes: Span<UInt8>, to output: OutputBuffer) {
        var start = 0
        while start <= bytes.count {
            let end = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) ?? bytes.count
            let parameter = bytes.extracting(start..<end)
            if start > 0 { output.append(mode == .keys ? "," : "&") }
            append(parameter: parameter, to: output)
            start = end + 1
        }
    }

    /// The longest text without a value that counts as a key, in bytes: beyond it may be a token.
    private static let longestFlag = 20

    private func append(parameter: Span<UInt8>, to output: OutputBuffer) {
        guard mode == .full else {
            if let equals = parameter.firstIndex(of: UInt8(ascii: "="), from: 0) {
                // At the end of base64 the sign separates nothing.
                let isLast = (equals..<parameter.count).allSatisfy {
                    parameter[$0] == UInt8(ascii: "=")
                }
                if equals <= QueryText.longestFlag || !isLast {
                    return output.append(escaped: parameter.extracting(0..<equals))
                }
            }
            guard parameter.count <= QueryText.longestFlag else {
                return output.append(Redaction.mark)
            }
            return output.append(escaped: parameter)
        }
        output.append(escaped: redaction.parameter(parameter.string(in: parameter.indices)[...]))
    }
}
