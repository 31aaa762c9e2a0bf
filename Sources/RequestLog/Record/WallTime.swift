import FoundationEssentials

/// A moment of the calendar's time, UTC, to the microsecond.
package struct WallTime: Sendable, Hashable, Comparable {
    /// Whole seconds since 1970.
    package var seconds: Int64
    /// 0...999 999.
    package var microseconds: Int32

    /// Makes a moment.
    package init(seconds: Int64, microseconds: Int32 = 0) {
        self.seconds = seconds
        self.microseconds = microseconds
    }

    /// The system's clock.
    package static var now: WallTime {
        // A Double of seconds is exact to a quarter of a microsecond in this century.
        let time = Date().timeIntervalSince1970
        let whole = time.rounded(.down)
        return WallTime(
            seconds: Int64(whole),
            microseconds: min(Int32((time - whole) * 1_000_000), 999_999)
        )
    }

    /// A number of nanoseconds since 1970, cut off to the microsecond.
    package init(nanosecondsSince1970 nanoseconds: UInt64) {
        seconds = Int64(nanoseconds / 1_000_000_000)
        microseconds = Int32(nanoseconds % 1_000_000_000 / 1000)
    }

    /// Whether `left` is the earlier one.
    package static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.microseconds) < (right.seconds, right.microseconds)
    }
}
