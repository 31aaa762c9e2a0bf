// SAFETY: the object owns the memory. Bytes below the owner's end mark are immutable while the slab is
// shared; `ReadBuffer` guarantees this.
/// A fixed block of memory for received bytes, kept alive by its slices.
///
/// One owner, a `ReadBuffer`, writes to it. Bytes before the owner's end mark are not modified while a slice
/// refers to them, so any thread can read slices.
@safe public final class Slab: ManagedBuffer<Int, UInt8> {
    /// The usual size of a slab, in bytes.
    ///
    /// 16 KiB: one TLS record, and the default limit of a field section.
    public static let standardCapacity = 16 * 1024

    /// The size of a slab for the middle of a long body: fewer system calls for more memory.
    ///
    /// 64 KiB, like the `proxy_buffers` of nginx in total.
    public static let largeCapacity = 64 * 1024

    /// Allocates a slab, object and memory in one block; the memory is not cleared.
    static func make(capacity: Int = Slab.standardCapacity) -> Slab {
        let buffer = Slab.create(minimumCapacity: capacity) { _ in capacity }
        return unsafe unsafeDowncast(buffer, to: Slab.self)
    }

    // Read through the pointer: the value never changes, and `header` would be checked for overlapping
    // accesses.
    /// The capacity of the slab, in bytes.
    public var size: Int { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee } }

    @usableFromInline @inline(__always) var memory: UnsafeMutableRawPointer {
        unsafe withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    }
}
