import NetproxyBytes
import NetworkCore

extension HumanLine {
    /// Describes a finished exchange.
    package init(_ record: ExchangeRecord, channel: String?) {
        let output = OutputBuffer(capacity: 64)
        TimestampCache().append(record.time, to: output)
        time = Self.milliseconds(of: output.span.string(in: 0..<output.count))
        status = record.status?.rawValue
        method = record.method
        path = record.target.isEmpty ? record.host ?? "" : record.askedPath
        self.channel = channel
        duration = Double(record.duration.attoseconds) / 1e15
        level = record.level
        requestID = record.context.requestID
        let facts = record.context.authorization
        marks = Self.marks(
            refreshed: facts?.isRefreshed,
            overrode: facts?.overrodeClient,
            notReplayed: facts?.notReplayed?.rawValue,
            retries: record.context.retries.map(\.description)
        )
        fault = Self.fault(
            error: record.error?.rawValue,
            detail: record.detail,
            abortedBy: record.abortedBy?.rawValue
        )
    }

    /// Describes a log line of any event.
    package init(_ line: LogLine) {
        time = Self.milliseconds(of: line.time)
        channel = line[.channel]?.text
        level = line[.level]?.text.flatMap(LogLevel.init) ?? .info
        duration = line[.duration]?.number
        guard line[.event]?.text == "exchange" else {
            describeEvent(line)
            return
        }
        status = line[.status]?.integer
        requestID = line[.requestID]?.text
        method = line[.method]?.text ?? ""
        // CONNECT has a host instead of a path.
        path = (line[.target] ?? line[.path] ?? line[.host])?.text ?? ""
        marks = Self.marks(
            refreshed: line[.authRefreshed] == .flag(true),
            overrode: line[.authOverrodeClient] == .flag(true),
            notReplayed: line[.authNotReplayed]?.text,
            retries: line[.retries]?.list?.map(\.plain) ?? []
        )
        fault = Self.fault(
            error: line[.error]?.text,
            detail: line[.detail]?.text,
            abortedBy: line[.abortedBy]?.text
        )
    }

    /// The keys that an event's marks omit.
    private static let shownKeys = Set(
        [
            LogKey.time, .level, .subsystem, .category, .channel, .event, .message, .duration,
        ].map(\.name)
    )

    private mutating func describeEvent(_ line: LogLine) {
        placeholder = "***"
        method = line[.event]?.plain ?? ""
        path = line[.message]?.plain ?? ""
        guard case .object(let members) = line.object else { return }
        marks = members.filter { !Self.shownKeys.contains($0.name) }
            .map { "\($0.name)=\($0.value.plain)" }
    }

    /// Shortens an RFC 3339 time in UTC to milliseconds.
    private static func milliseconds(of time: String) -> String {
        time.count > 24 ? time.prefix(23) + "Z" : time
    }

    private static func marks(
        refreshed: Bool?,
        overrode: Bool?,
        notReplayed: String?,
        retries: [String]
    ) -> [String] {
        var marks: [String] = []
        if refreshed == true { marks.append("refreshed") }
        if overrode == true { marks.append("overrode-client") }
        if let notReplayed { marks.append("not-replayed: \(notReplayed)") }
        // The last reason may explain the absence of a further retry.
        let refusal = RetryReason.budgetExhausted.description
        let made = retries.filter { $0 != refusal }
        if !made.isEmpty { marks.append("retried: \(counted(made))") }
        if made.count < retries.count { marks.append(refusal) }
        return marks
    }

    /// Joins the reasons and counts repeated ones: `connection_refused ×2, unauthorized`.
    private static func counted(_ reasons: [String]) -> String {
        var runs: [(reason: String, count: Int)] = []
        for reason in reasons {
            if let last = runs.last, last.reason == reason {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((reason, 1))
            }
        }
        return runs.map { $0.count > 1 ? "\($0.reason) ×\($0.count)" : $0.reason }
            .joined(separator: ", ")
    }

    private static func fault(error: String?, detail: String?, abortedBy: String?) -> String? {
        let aborted = abortedBy.map { "aborted by \($0)" }
        let reason = error.map { word in detail.map { "\(word): \($0)" } ?? word }
        let parts = [reason, aborted].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
