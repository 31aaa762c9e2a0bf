package import NetproxyBytes
import NetworkCore

/// A log line for human readers: time, status, method, channel, duration and path in columns, then anything
/// unusual, and the ID of an unsuccessful exchange.
///
///      2026-03-04T05:06:07.089Z 200 GET     orders    12.3 ms /orders/42  refreshed retried: unauthorized
///
/// The time is in UTC, as in the log. The path is that of the client's request.
package struct HumanLine: Sendable {
    /// The coloring of the line.
    package enum Style: Sendable {
        case plain
        /// With ANSI escapes, for a terminal.
        case coloured

        /// Returns the style for a terminal with these environment variables.
        ///
        /// There are no colors if `NO_COLOR` has any value (no-color.org) or `TERM` is `dumb`.
        package static func onTerminal(_ environment: [String: String]) -> Style {
            let isUnwanted = environment["NO_COLOR"]?.isEmpty == false
            return isUnwanted || environment["TERM"] == "dumb" ? .plain : .coloured
        }
    }

    /// The widths of a line and its columns.
    package struct Layout: Sendable {
        /// The width of the terminal, into which each line must fit; `nil` for lines of any length.
        package let width: Int?
        /// The width of the channel column.
        let channel: Int

        /// Makes a layout for the channels with these names.
        ///
        /// Every line fits a terminal of at least 60 columns.
        package init(width: Int? = nil, channels: [String] = []) {
            let longest = max(8, channels.map(\.count).max() ?? 0)
            self.width = width
            channel = width.map { min(longest, max(8, $0 / 6)) } ?? longest
        }

        /// Whether the line is too narrow for milliseconds.
        var isNarrow: Bool { width.map { $0 < 100 } ?? false }
    }

    private enum Colour: String {
        case red = "\u{1b}[31m"
        case green = "\u{1b}[32m"
        case yellow = "\u{1b}[33m"
        case cyan = "\u{1b}[36m"
        case grey = "\u{1b}[90m"
    }

    /// The time in UTC, to the millisecond: `2026-03-04T05:06:07.089Z`.
    var time = ""
    var status: Int?
    /// The text that replaces a missing status.
    var placeholder = "---"
    var method = ""
    var path = ""
    var channel: String?
    /// The duration in milliseconds.
    var duration: Double?
    var marks: [String] = []
    var fault: String?
    /// The request ID, by which `netproxy why` finds the exchange.
    var requestID: String?
    var level = LogLevel.info

    /// Appends the line, including the newline.
    package func encode(
        to output: OutputBuffer,
        style: Style,
        in layout: Layout = Layout()
    ) {
        let columns: [(text: String, colour: Colour?)] = [
            (shownTime(layout), .grey),
            (status.map(String.init) ?? placeholder, statusColour),
            (column(method, 7, layout), nil),
            (column(channel ?? "", layout.channel, layout), .cyan),
            ((duration.map(Self.milliseconds) ?? "").aligned(to: 7), nil),
        ]
        var taken = 0
        for (text, colour) in columns {
            append(text, colour, output, style)
            output.append(UInt8(ascii: " "))
            taken += text.count + 1
        }
        var rest = Remainder(
            path: path.harmless,
            marks: marks.joined(separator: " ").harmless,
            fault: (fault ?? "").harmless,
            id: isSuccess ? "" : (requestID ?? "").harmless
        )
        if let width = layout.width { rest.fit(into: width - taken) }
        append(rest.path, nil, output, style)
        append(rest.marks.indented, .yellow, output, style)
        append(rest.fault.indented, .red, output, style)
        append(rest.id.indented, .grey, output, style)
        output.append(UInt8(ascii: "\n"))
    }

    private var isSuccess: Bool {
        fault == nil && status.map { (200..<300).contains($0) } ?? (requestID == nil)
    }

    /// Returns the time, on a terminal without the date, which has its own line.
    private func shownTime(_ layout: Layout) -> String {
        guard layout.width != nil, let start = time.firstIndex(of: "T") else { return time }
        return String(time[time.index(after: start)...].prefix(layout.isNarrow ? 8 : 12))
    }

    private func column(_ text: String, _ width: Int, _ layout: Layout) -> String {
        let text = text.harmless
        return (layout.width == nil ? text : text.cut(to: width)).padded(to: width)
    }

    /// The part of a line after the columns.
    private struct Remainder {
        var path: String
        var marks: String
        var fault: String
        let id: String

        /// Shortens texts that are too long; the path is cut in its middle and keeps at least half of the
        /// space.
        mutating func fit(into width: Int) {
            let room = max(0, width - id.indented.count)
            let wanted = path.count + marks.indented.count + fault.indented.count
            guard wanted > room else { return }
            let notes = max(room - max(room / 2, 8), room - path.count)
            fault = fault.cut(to: notes - 2)
            marks = marks.cut(to: notes - fault.indented.count - 2)
            path = path.cutInside(to: room - fault.indented.count - marks.indented.count)
        }
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
        guard style == .coloured, let colour else { return output.append(text) }
        output.append(colour.rawValue)
        output.append(text)
        output.append("\u{1b}[0m")
    }

    /// Returns the duration with about three significant digits: `0.8 ms`, `12.3 ms`, `250 ms`, `1.52 s`.
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

    fileprivate func aligned(to width: Int) -> String {
        count < width ? String(repeating: " ", count: width - count) + self : self
    }

    /// The text after two spaces, or nothing if it is empty.
    fileprivate var indented: String { isEmpty ? "" : "  \(self)" }

    /// Returns the beginning of the text, with an ellipsis if it is cut, or nothing if there is no space for
    /// more.
    fileprivate func cut(to width: Int) -> String {
        guard count > width else { return self }
        return width < 4 ? "" : prefix(width - 1) + "…"
    }

    /// Returns the beginning and the end of the text, with an ellipsis between them.
    fileprivate func cutInside(to width: Int) -> String {
        guard count > width else { return self }
        guard width > 0 else { return "" }
        let end = (width - 1) / 2
        return prefix(width - 1 - end) + "…" + suffix(end)
    }

    /// The text with terminal control characters replaced by U+FFFD.
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
