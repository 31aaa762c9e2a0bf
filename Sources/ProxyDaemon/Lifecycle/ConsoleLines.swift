import Bytes
import RequestLog

/// One readable line per exchange on standard output, for a person who reads along.
///
/// One per loop.
final class ConsoleLines {
    private let style: HumanLine.Style
    private let buffer = OutputBuffer(capacity: 512)
    private let destination = StandardOutputDestination()

    init?(_ console: Daemon.Console) {
        switch console {
        case .off: return nil
        case .plain: style = .plain
        case .coloured: style = .coloured
        }
    }

    /// Prints an exchange at once; a terminal that went away does not matter.
    func show(_ record: ExchangeRecord, channel: String?) {
        let (buffer, destination) = (buffer, destination)
        HumanLine(record, channel: channel).encode(to: buffer, style: style)
        _ = try? destination.write(buffer.span)
        buffer.removeAll()
    }
}
