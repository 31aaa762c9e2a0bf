import NetproxyEventIO

/// A histogram of durations, with fixed bounds and the sum.
///
/// Because the bounds never change, Prometheus and netproxy can add the histograms of loops and channels.
package struct DurationHistogram: Sendable {
    /// The upper bounds of all buckets but the last, in milliseconds: three for each power of ten, and the
    /// usual timeouts.
    static let bounds: [UInt64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
    ]

    /// The number of durations in each bucket.
    private var counts = InlineArray<16, Int>(repeating: 0)
    /// The sum of the durations in nanoseconds.
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

    /// The sum of the durations in seconds.
    package var seconds: Double { Double(sum) / 1_000_000_000 }

    /// The number of durations up to each bound, in seconds; a `nil` bound is infinite.
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
