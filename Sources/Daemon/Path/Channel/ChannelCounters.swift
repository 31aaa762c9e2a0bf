import NetproxyHTTPMessage
import NetproxyRequestLog
package import NetworkCore

/// Holds a channel's counters on one loop.
///
/// It survives a reload that recreates the channel: a decreasing counter would look like a restart, and
/// exchanges that end on the old channel still count.
///
/// Not `Sendable`: it never leaves its loop.
package final class ChannelTally {
    package var counters = ChannelCounters()

    package init() {}
}

/// The counters of a channel on one loop since the start; they are summed over the loops on request.
package struct ChannelCounters: Sendable {
    package var requests = 0
    /// Exchanges by the first digit of the status sent to the client: index 1 is 1xx, 5 is 5xx, and 0 is
    /// no status.
    var byClass = [Int](repeating: 0, count: 6)
    package var retries = 0
    /// Exchanges that ended with one of netproxy's own errors, by error code.
    package var errors: [ErrorKind: Int] = [:]
    /// The gRPC calls by their status.
    var calls: [RPCStatus: Int] = [:]
    /// The times from the complete head to the last byte sent to the client.
    package var durations = DurationHistogram()
    /// The times from the last attempt's request to the head of the response.
    package var firstBytes = DurationHistogram()
    package var bytesIn = 0
    package var bytesOut = 0
    /// The newest results.
    package private(set) var outcome = ChannelOutcome()

    package init() {}

    /// Counts a finished exchange.
    ///
    /// The parameter is `inout`, although nothing changes, because a borrowed record would be copied.
    mutating func count(_ record: inout ExchangeRecord) {
        requests += 1
        let code = record.status?.rawValue ?? 0
        byClass[min(max(code / 100, 0), 5)] += 1
        // A retry refused by the budget was not sent.
        retries += record.context.retries.count { $0 != .budgetExhausted }
        if let error = record.error { errors[error, default: 0] += 1 }
        if let status = record.rpcStatus {
            // Count all unnamed codes together, so that an upstream cannot make the table grow.
            let isNamed = RPCStatus.names.indices.contains(status.rawValue)
            calls[isNamed ? status : ChannelCounters.otherStatus, default: 0] += 1
        }
        durations.count(record.duration)
        if let firstByte = record.context.timings.firstByte { firstBytes.count(firstByte) }
        bytesIn += record.bytesIn
        bytesOut += record.bytesOut
        outcome.note(&record)
    }

    /// The exchanges by the name of the status class, without empty classes.
    package var statuses: [String: Int] {
        var statuses: [String: Int] = [:]
        for (index, count) in byClass.enumerated() where count > 0 {
            statuses[index == 0 ? "none" : "\(index)xx"] = count
        }
        return statuses
    }

    /// The errors by error code; `nil` if there were none.
    package var errorWords: [String: Int]? {
        guard !errors.isEmpty else { return nil }
        return Dictionary(uniqueKeysWithValues: errors.map { ($0.key.rawValue, $0.value) })
    }

    private static let otherStatus = RPCStatus(rawValue: -1)

    /// The gRPC calls by the name of the status, `other` for unnamed ones; `nil` if there were none.
    package var callNames: [String: Int]? {
        guard !calls.isEmpty else { return nil }
        return Dictionary(
            uniqueKeysWithValues: calls.map { status, count in
                (status == ChannelCounters.otherStatus ? "other" : status.name, count)
            }
        )
    }

    package static func + (left: ChannelCounters, right: ChannelCounters) -> ChannelCounters {
        var sum = left
        sum.requests += right.requests
        for index in sum.byClass.indices { sum.byClass[index] += right.byClass[index] }
        sum.retries += right.retries
        sum.errors.merge(right.errors, uniquingKeysWith: +)
        sum.calls.merge(right.calls, uniquingKeysWith: +)
        sum.durations = left.durations + right.durations
        sum.firstBytes = left.firstBytes + right.firstBytes
        sum.bytesIn += right.bytesIn
        sum.bytesOut += right.bytesOut
        sum.outcome = left.outcome + right.outcome
        return sum
    }
}
