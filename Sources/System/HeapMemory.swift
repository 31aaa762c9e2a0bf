import CSystem

/// The memory that `malloc` manages, of the whole process.
package enum HeapMemory {
    /// Gives what nobody uses back to the system.
    ///
    /// It looks through all of the heap: for after many things were freed.
    package static func returnUnused() {
        _ = malloc_trim(0)
    }
}
