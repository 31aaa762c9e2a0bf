import Glibc
import Synchronization

/// The limit on the process's descriptors, and a reserve that client connections cannot use.
///
/// Without descriptors, no token can be fetched and no log reopened. libdispatch, which runs Swift's default
/// executor, even traps if it cannot open a file.
package enum DescriptorLimit {
    /// Advice for a lack of descriptors, to follow "the process should".
    package static let advice = "raise its limit of open files (LimitNOFILE=, ulimit -n)"

    /// The desired limit: enough for the usual limits of a configuration, and equal to the unit file's.
    private static let wanted: rlim_t = 65_536
    /// The lowest descriptor of the reserve; the system assigns the lowest free number first.
    private static let ceiling = Atomic<Int32>(.max)

    /// Raises the process's limit as far as permitted, and activates the reserve.
    ///
    /// - Returns: the number of descriptors available to clients and upstreams together.
    @discardableResult
    package static func claim() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        // SAFETY: the structure outlives the calls.
        guard unsafe getrlimit(resource, &limit) == 0 else { return .max }
        if limit.rlim_cur < min(limit.rlim_max, wanted) {
            var raised = limit
            raised.rlim_cur = min(limit.rlim_max, wanted)
            // A sandbox may forbid this; the limit then stays unchanged.
            if unsafe setrlimit(resource, &raised) == 0 { limit = raised }
        }
        let count = Int32(clamping: limit.rlim_cur)
        let reserve = min(max(count / 8, 8), 128)
        ceiling.store(count - reserve, ordering: .relaxed)
        return Int(count - reserve)
    }

    /// The maximum number of descriptors.
    static var current: Int {
        var limit = rlimit()
        // SAFETY: the structure outlives the call.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return .max
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether a new descriptor belongs to the reserve.
    package static func isReserved(_ descriptor: Int32) -> Bool {
        descriptor >= ceiling.load(ordering: .relaxed)
    }

    /// Whether a new descriptor belongs to the upper half of the reserve, which open requests cannot use
    /// either.
    package static func isDeeplyReserved(_ descriptor: Int32) -> Bool {
        let ceiling = ceiling.load(ordering: .relaxed)
        guard ceiling < .max else { return false }
        return descriptor >= ceiling + min(max(ceiling / 16, 4), 64)
    }
}
