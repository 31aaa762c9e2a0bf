import CNetproxySystem

/// The memory of the whole process that `malloc` manages.
package enum HeapMemory {
    /// Returns unused memory to the system.
    ///
    /// It scans the whole heap, so call it only after freeing much memory.
    package static func returnUnused() {
        _ = malloc_trim(0)
    }
}
