import CNetproxySystem

/// Protects the memory of this process, which contains secrets such as tokens.
package enum MemoryPrivacy {
    /// Has the kernel write no core dump of the process, and no other process of the same user read
    /// its memory or trace it; root still may.
    ///
    /// A program that is started by this one is not affected: the attribute ends with `execve`
    /// (prctl(2), PR_SET_DUMPABLE).
    ///
    /// A sandbox may forbid it; then everything goes on as before.
    ///
    /// - Returns: whether it is in force.
    @discardableResult
    package static func forbidDumps() -> Bool {
        netproxy_forbid_dumps() == 0
    }
}
