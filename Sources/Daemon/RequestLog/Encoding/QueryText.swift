import NetproxyBytes
import NetproxySettings
import NetworkCore

/// Writes the part of a query that the mode permits, without decoding it.
struct QueryText {
    let mode: QueryMode
    let redaction: Redaction

    /// Appends the query escaped for a JSON string, without the quotes.
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

    private func append(parameter: Span<UInt8>, to output: OutputBuffer) {
        if mode == .full {
            let text = parameter.string(in: parameter.indices)
            output.append(escaped: redaction.parameter(text[...]))
        } else if let length = Redaction.nameLength(of: parameter) {
            output.append(escaped: parameter.extracting(0..<length))
        } else {
            output.append(Redaction.mark)
        }
    }
}
