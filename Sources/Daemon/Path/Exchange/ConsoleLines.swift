import NetproxyBytes
import NetproxyRequestLog
import NetproxySystem

/// The style of the readable lines on standard output, one for each exchange.
package enum ConsoleStyle: Sendable {
    case off, plain, coloured
}

/// Writes one readable line per exchange to standard output, for a terminal.
///
/// One per loop.
package final class ConsoleLines {
    private let style: HumanLine.Style
    private let terminal = StandardStream.output
    private let buffer = OutputBuffer(capacity: 512)
    private let destination = StandardOutputDestination(patience: .zero)

    package init?(_ console: ConsoleStyle) {
        switch console {
        case .off: return nil
        case .plain: style = .plain
        case .coloured: style = .coloured
        }
    }

    /// Prints an exchange at once; ignores a closed terminal.
    func show(_ record: ExchangeRecord, channel: String?) {
        let (buffer, destination) = (buffer, destination)
        HumanLine(record, channel: channel).encode(
            to: buffer,
            style: style,
            in: HumanLine.Layout(width: terminal.columns)
        )
        _ = try? destination.write(buffer.span)
        buffer.removeAll()
    }
}
