import Glibc

/// How many processors this process may use.
package enum ProcessorCount {
    /// As the scheduler's affinity mask says, not the machine.
    package static var available: Int {
        var set = cpu_set_t()
        // SAFETY: the set lives for the call, and its size is told.
        guard unsafe sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return 1 }
        return unsafe withUnsafeBytes(of: &set) { unsafe $0.reduce(0) { $0 + $1.nonzeroBitCount } }
    }
}
