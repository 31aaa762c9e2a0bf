import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Counts, logs and remembers the exchanges of a loop.
///
/// Not `Sendable`.
package final class ExchangeRecorder {
    private let loop: EventLoop
    /// The log for requests without a channel.
    var ownLog: LogBuffer
    /// The counters of requests without a channel.
    package let unclaimed = ChannelTally()
    /// The exchanges that `netproxy why` can explain.
    package let recent = RecentExchanges()
    /// Prints exchanges, if `netproxy run` was started in a terminal.
    private var console: ConsoleLines?
    /// Called after each record.
    private var onLogged: (() -> Void)?

    init(on loop: EventLoop, ownLog: LogBuffer) {
        self.loop = loop
        self.ownLog = ownLog
    }

    /// Sets the consumers of each record besides the log.
    package func report(to console: ConsoleLines?, _ onLogged: @escaping () -> Void) {
        self.console = console
        self.onLogged = onLogged
    }

    /// Ends an exchange: counts, logs and remembers it.
    func record(_ exchange: inout Exchange, _ app: some DownstreamExchange) {
        exchange.end(at: loop.now, bytesIn: app.request.bytesIn, by: app.peer.process)
        if let channel = exchange.channel {
            channel.tally.counters.count(&exchange.record)
            channel.log.write(exchange.record, now: .now, keepingIn: recent.lines)
        } else {
            unclaimed.counters.count(&exchange.record)
            ownLog.write(exchange.record, now: .now, keepingIn: recent.lines)
        }
        if exchange.record.context.hasEcho || app.request.sent?.isEchoed == true {
            noteEcho(in: exchange)
        }
        recent.add(exchange.note, to: &exchange.record)
        if let console { console.show(exchange.record, channel: exchange.channel?.name) }
        onLogged?()
    }

    /// Logs that the API repeated a secret, which netproxy removed.
    private func noteEcho(in exchange: borrowing Exchange) {
        let channel = exchange.channel?.name ?? ""
        let event = EventRecord(
            time: .now,
            level: .warning,
            event: .audit,
            message: "the response contained a credential of the request; netproxy removed it",
            facts: [
                ("action", .text("credential_echoed")), ("channel", .text(channel)),
                ("request_id", .text(exchange.record.context.requestID)),
            ]
        )
        ownLog.write(event, now: .now)
    }

    /// Logs that `Connection` named fields that it cannot remove.
    ///
    /// A client that tries to remove a credential deserves attention.
    func warn(of nominated: [HTTPFieldName], in exchange: borrowing Exchange) {
        write(
            EventRecord(
                time: .now,
                level: .warning,
                event: .request,
                message: "Connection named fields that only the proxy may remove",
                facts: [
                    ("request_id", .text(exchange.record.context.requestID)),
                    ("fields", .text(nominated.map(\.description).joined(separator: ", "))),
                ]
            ),
            of: exchange
        )
    }

    /// Logs the opening of a tunnel.
    func note(_ opening: TunnelOpening, in exchange: borrowing Exchange) {
        var facts: [(name: String, value: EventRecord.Value)] = [
            ("request_id", .text(exchange.record.context.requestID))
        ]
        if let name = opening.upgrade { facts.append(("protocol", .text(name))) }
        if let address = exchange.record.context.upstreamAddress {
            facts.append(("upstream", .text(address)))
        }
        write(
            EventRecord(
                time: .now,
                event: .upgrade,
                message: "a tunnel was opened",
                facts: facts
            ),
            of: exchange
        )
        onLogged?()
    }

    private func write(_ event: EventRecord, of exchange: borrowing Exchange) {
        (exchange.channel?.log ?? ownLog).write(event, now: .now)
    }
}
