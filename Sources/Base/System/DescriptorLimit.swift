import Glibc
import Synchronization

/// The limit on descriptors of the process, and a reserve that no app's connection gets.
///
/// Without descriptors no token can be fetched and no log reopened; libdispatch, which runs Swift's
/// default executor, even traps when it cannot open a file.
package enum DescriptorLimit {
    /// The advice about too few descriptors, to follow "the process should".
    package static let advice = "raise its limit of open files (LimitNOFILE=, ulimit -n)"

    /// Enough for the usual limits of a configuration; the same as in the unit file.
    private static let wanted: rlim_t = 65_536
    /// From this number on a descriptor belongs to the reserve: the system hands out the lowest
    /// first.
    private static let ceiling = Atomic<Int32>(.max)

    /// Raises the process's limit as far as allowed, and keeps a reserve from now on.
    ///
    /// - Returns: how many descriptors apps and upstreams can have together.
    @discardableResult
    package static func claim() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        // SAFETY: the structure lives for the calls.
        guard unsafe getrlimit(resource, &limit) == 0 else { return .max }
        if limit.rlim_cur < min(limit.rlim_max, wanted) {
            var raised = limit
            raised.rlim_cur = min(limit.rlim_max, wanted)
            // A sandbox may forbid it; then the limit stays as it is.
            if unsafe setrlimit(resource, &raised) == 0 { limit = raised }
        }
        let count = Int32(clamping: limit.rlim_cur)
        let reserve = min(max(count / 8, 8), 128)
        ceiling.store(count - reserve, ordering: .relaxed)
        return Int(count - reserve)
    }

    /// The largest number of descriptors.
    static var current: Int {
        var limit = rlimit()
        // SAFETY: the structure lives for the call.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .max
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether a new descriptor comes from the reserve.
    package static func isReserved(_ descriptor: Int32) -> Bool {
        descriptor >= ceiling.load(ordering: .relaxed)
    }

    /// Whether a new descriptor comes from the half of the reserve that open requests do not get
    /// either.
    package static func isDeeplyReserved(_ descriptor: Int32) -> Bool {
        let ceiling = ceiling.load(ordering: .relaxed)
        guard ceiling < .max else { return false }
        return descriptor >= ceiling + min(max(ceiling / 16, 4), 64)
    }
}
