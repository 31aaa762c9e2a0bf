import HTTPMessage
import NetworkCore
import RequestLog

/// Where a channel counts on one loop, also when a reload made it anew: a counter that falls back
/// would be taken for a restart, and exchanges that end on the old channel still count.
///
/// Not `Sendable`: it never leaves its loop.
final class ChannelTally {
    var counters = ChannelCounters()
}

/// What a channel did on one loop since the start; added up over the loops when somebody asks.
struct ChannelCounters: Sendable {
    var requests = 0
    /// By the first digit of the status the app got: index 1 is 1xx, 5 is 5xx; 0 is none.
    var byClass = [Int](repeating: 0, count: 6)
    var retries = 0
    var errors = 0
    var bytesIn = 0
    var bytesOut = 0

    mutating func count(_ exchange: borrowing Exchange) {
        requests += 1
        let code = exchange.status?.rawValue ?? 0
        byClass[min(max(code / 100, 0), 5)] += 1
        retries += exchange.context.retries.count { $0 != .budgetExhausted }
        if exchange.hasFailed { errors += 1 }
        bytesIn += exchange.record.bytesIn
        bytesOut += exchange.bytesOut
    }

    /// By the name of the class, those that there were.
    var statuses: [String: Int] {
        var statuses: [String: Int] = [:]
        for (index, count) in byClass.enumerated() where count > 0 {
            statuses[index == 0 ? "none" : "\(index)xx"] = count
        }
        return statuses
    }

    static func + (left: ChannelCounters, right: ChannelCounters) -> ChannelCounters {
        var sum = left
        sum.requests += right.requests
        for index in sum.byClass.indices { sum.byClass[index] += right.byClass[index] }
        sum.retries += right.retries
        sum.errors += right.errors
        sum.bytesIn += right.bytesIn
        sum.bytesOut += right.bytesOut
        return sum
    }
}
