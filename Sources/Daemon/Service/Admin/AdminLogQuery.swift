import NetproxyHTTPMessage
import NetproxyPath
import NetproxyRequestLog

/// The log lines that an admin request selects.
struct AdminLogQuery: Sendable {
    /// The maximum number of remembered lines per request.
    static let mostLines = 1000

    /// The selected channels, `netproxy` for the daemon's own log; empty for all.
    let channels: [String]
    /// The conditions, all of which a line must satisfy.
    let filter: [WhereExpression]
    /// The number of requested remembered exchanges.
    let last: Int

    /// Parses the parameters `channel`, `where` and `last`.
    ///
    /// - Parameters:
    ///   - query: the query of the request.
    ///   - present: the existing channels.
    ///   - standard: the number of remembered exchanges without `last`.
    /// - Throws: `AdminRefusal` with the expected value.
    init(_ query: AdminQuery, present: [String], last standard: Int = 0) throws(AdminRefusal) {
        if let name = query.unknownName(among: ["channel", "where", "last"]) {
            throw AdminRefusal(
                status: 400,
                detail: "expected channel=NAME, where=EXPRESSION or last=NUMBER, found '\(name)'"
            )
        }
        channels = query["channel"]
        for channel in channels where channel != LogLabels.ownLog && !present.contains(channel) {
            throw AdminRefusal(
                status: 404,
                detail: UnknownChannel(name: channel, present: present).description
            )
        }
        var filter: [WhereExpression] = []
        for text in query["where"] {
            do throws(WhereExpression.Invalid) {
                filter.append(try WhereExpression(text))
            } catch {
                throw AdminRefusal(status: 400, detail: "where=\(text): \(error.description)")
            }
        }
        self.filter = filter
        guard let text = query["last"].last else {
            last = standard
            return
        }
        guard let count = Int(text), (0...AdminLogQuery.mostLines).contains(count) else {
            throw AdminRefusal(
                status: 400,
                detail:
                    "last: expected a number from 0 to \(AdminLogQuery.mostLines), found '\(text)'"
            )
        }
        last = count
    }

    /// Whether a line is selected.
    func includes(_ line: LogLine) -> Bool {
        let channel = line["channel"]?.text ?? LogLabels.ownLog
        return (channels.isEmpty || channels.contains(channel))
            && filter.allSatisfy { $0.matches(line) }
    }
}
