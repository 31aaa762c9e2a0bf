import CNetproxySystem

/// Protects the memory of this process, which contains secrets such as tokens.
package enum MemoryPrivacy {
    /// Prevents core dumps, and prevents other processes of the same user from reading or tracing this one.
    ///
    /// Root still may. Programs started by this process are not affected: the attribute ends with `execve`
    /// (prctl(2), PR_SET_DUMPABLE). If a sandbox forbids the call, nothing changes.
    ///
    /// - Returns: whether the protection is in force.
    @discardableResult
    package static func forbidDumps() -> Bool {
        netproxy_forbid_dumps() == 0
    }
}
