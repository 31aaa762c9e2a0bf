package import Bytes
import NetworkCore

/// A log line for human readers: time, status, method, path, channel, duration, and anything unusual.
///
///     05:06:07.089Z 200 GET    /v1/42  orders  12.3 ms  refreshed retried: unauthorized
///
/// The time is UTC, like the log's.
package struct HumanLine: Sendable {
    /// Whether the line has colours.
    package enum Style: Sendable {
        case plain
        /// With ANSI escapes, for a terminal.
        case coloured

        /// The style for a terminal with these environment variables.
        ///
        /// There are no colours if `NO_COLOR` has any value (no-color.org) or `TERM` is `dumb`.
        package static func onTerminal(_ environment: [String: String]) -> Style {
            let isUnwanted = environment["NO_COLOR"]?.isEmpty == false
            return isUnwanted || environment["TERM"] == "dumb" ? .plain : .coloured
        }
    }

    private enum Colour: String {
        case red = "\u{1b}[31m"
        case green = "\u{1b}[32m"
        case yellow = "\u{1b}[33m"
        case cyan = "\u{1b}[36m"
        case grey = "\u{1b}[90m"
    }

    /// The date, if it is shown.
    var day: String?
    var time = ""
    var status: Int?
    /// The text shown if there is no status.
    var placeholder = "---"
    var method = ""
    var path = ""
    var channel: String?
    /// In milliseconds.
    var duration: Double?
    var marks: [String] = []
    var fault: String?
    var level = LogLevel.info

    /// Appends the line, including the newline.
    package func encode(to output: OutputBuffer, style: Style) {
        append(day.map { "\($0)T\(time)" } ?? time, .grey, output, style)
        output.append(UInt8(ascii: " "))
        append(status.map(String.init) ?? placeholder, statusColour, output, style)
        output.append(UInt8(ascii: " "))
        append(method.padded(to: 6), nil, output, style)
        output.append(UInt8(ascii: " "))
        append(path, nil, output, style)
        append(channel.map { "  \($0)" }, .cyan, output, style)
        append(duration.map { "  \(Self.milliseconds($0))" }, nil, output, style)
        if !marks.isEmpty { append("  " + marks.joined(separator: " "), .yellow, output, style) }
        append(fault.map { "  \($0)" }, .red, output, style)
        output.append(UInt8(ascii: "\n"))
    }

    private var statusColour: Colour {
        switch status ?? 0 {
        case 100..<300: .green
        case 300..<400: .cyan
        case 400..<500: .yellow
        case 500...: .red
        default: level == .info ? .grey : level == .warning ? .yellow : .red
        }
    }

    private func append(
        _ text: String?,
        _ colour: Colour?,
        _ output: OutputBuffer,
        _ style: Style
    ) {
        guard let text, !text.isEmpty else { return }
        guard style == .coloured, let colour else { return output.append(text.harmless) }
        output.append(colour.rawValue)
        output.append(text.harmless)
        output.append("\u{1b}[0m")
    }

    /// The duration with about three significant digits: `0.8 ms`, `12.3 ms`, `250 ms`, `1.52 s`.
    static func milliseconds(_ value: Double) -> String {
        if value >= 10_000 { return "\((value / 100).rounded() / 10) s" }
        if value >= 1000 { return "\((value / 10).rounded() / 100) s" }
        if value >= 100 { return "\(Int(value.rounded())) ms" }
        return "\((value * 10).rounded() / 10) ms"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        count < width ? self + String(repeating: " ", count: width - count) : self
    }

    /// The text with U+FFFD in place of terminal control characters.
    fileprivate var harmless: String {
        let isClean = utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
        guard !isClean else { return self }
        var scalars = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = TerminalText.isObeyed(scalar)
            scalars.append(isControl ? "\u{fffd}" : scalar)
        }
        return String(scalars)
    }
}
