import NetproxyHTTPMessage
import NetproxyRequestLog
package import NetworkCore

/// Holds a channel's counters on one loop, also after a reload makes the channel again: a counter that
/// falls back would look like a restart, and exchanges that end on the old channel still count.
///
/// Not `Sendable`: it never leaves its loop.
package final class ChannelTally {
    package var counters = ChannelCounters()

    package init() {}
}

/// What a channel has done on one loop since the start; added up over the loops on request.
package struct ChannelCounters: Sendable {
    package var requests = 0
    /// By the first digit of the status that the client got: index 1 is 1xx, 5 is 5xx; 0 is no status.
    var byClass = [Int](repeating: 0, count: 6)
    package var retries = 0
    /// Exchanges that ended with one of netproxy's own errors, by error code.
    package var errors: [ErrorKind: Int] = [:]
    /// Calls of gRPC, by their status.
    var calls: [RPCStatus: Int] = [:]
    /// From the complete head to the last byte to the client.
    package var durations = DurationHistogram()
    /// From when the request of the last attempt went out to the head of the response.
    package var firstBytes = DurationHistogram()
    package var bytesIn = 0
    package var bytesOut = 0

    package init() {}

    /// Counts an exchange that has ended.
    ///
    /// `inout`, although nothing changes: a borrowed record would be copied.
    mutating func count(_ record: inout ExchangeRecord) {
        requests += 1
        let code = record.status?.rawValue ?? 0
        byClass[min(max(code / 100, 0), 5)] += 1
        // A retry that the budget refused was not sent.
        retries += record.context.retries.count { $0 != .budgetExhausted }
        if let error = record.error { errors[error, default: 0] += 1 }
        if let status = record.rpcStatus {
            // Codes that have no name count together: an upstream must not make the table grow.
            let isNamed = RPCStatus.names.indices.contains(status.rawValue)
            calls[isNamed ? status : ChannelCounters.otherStatus, default: 0] += 1
        }
        durations.count(record.duration)
        if let firstByte = record.context.timings.firstByte { firstBytes.count(firstByte) }
        bytesIn += record.bytesIn
        bytesOut += record.bytesOut
    }

    /// By the name of the class; classes without an exchange are left out.
    package var statuses: [String: Int] {
        var statuses: [String: Int] = [:]
        for (index, count) in byClass.enumerated() where count > 0 {
            statuses[index == 0 ? "none" : "\(index)xx"] = count
        }
        return statuses
    }

    /// By error code; `nil` if there was no error.
    package var errorWords: [String: Int]? {
        guard !errors.isEmpty else { return nil }
        return Dictionary(uniqueKeysWithValues: errors.map { ($0.key.rawValue, $0.value) })
    }

    private static let otherStatus = RPCStatus(rawValue: -1)

    /// By the name of the status, `other` without one; `nil` if there was no call.
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
        return sum
    }
}
