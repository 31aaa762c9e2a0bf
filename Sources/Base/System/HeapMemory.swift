import CNetproxySystem

/// The memory that `malloc` manages, of the whole process.
package enum HeapMemory {
    /// Returns unused memory to the system.
    ///
    /// It walks the whole heap, so call it only after much was freed.
    package static func returnUnused() {
        _ = malloc_trim(0)
    }
}
