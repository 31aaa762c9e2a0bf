import NetproxyEventIO

/// Counts durations in buckets with fixed bounds, and adds them up.
///
/// As the bounds never change, histograms of loops and channels can be added, also by Prometheus.
package struct DurationHistogram: Sendable {
    /// The longest duration of each bucket but the last, which has no end, in milliseconds: three for
    /// each power of ten, and the usual timeouts.
    static let bounds: [UInt64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
    ]

    /// How many durations ended in each bucket.
    private var counts = InlineArray<16, Int>(repeating: 0)
    /// What they add up to, in nanoseconds.
    private var sum: UInt64 = 0

    /// Counts a duration.
    mutating func count(_ duration: Duration) {
        let nanoseconds = duration.nanoseconds
        sum &+= nanoseconds
        var bucket = 0
        while bucket < DurationHistogram.bounds.count,
            nanoseconds > DurationHistogram.bounds[bucket] * 1_000_000
        {
            bucket += 1
        }
        counts[bucket] += 1
    }

    static func + (left: DurationHistogram, right: DurationHistogram) -> DurationHistogram {
        var both = left
        for bucket in both.counts.indices { both.counts[bucket] += right.counts[bucket] }
        both.sum &+= right.sum
        return both
    }

    /// What the durations add up to, in seconds.
    package var seconds: Double { Double(sum) / 1_000_000_000 }

    /// How many durations were at most as long as each bound, in seconds; `nil` is no bound.
    package var buckets: [(bound: Double?, count: Int)] {
        var count = 0
        return counts.indices.map { bucket in
            count += counts[bucket]
            let bound =
                bucket < DurationHistogram.bounds.count
                ? Double(DurationHistogram.bounds[bucket]) / 1000 : nil
            return (bound, count)
        }
    }
}
