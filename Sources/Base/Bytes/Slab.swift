// SAFETY: the memory is this object's own; bytes below the owner's end mark are immutable while the
// slab is shared, which `ReadBuffer` guarantees.
/// A fixed piece of memory that bytes are read into, and that slices keep alive.
///
/// One owner, a `ReadBuffer`, writes to it; bytes before the owner's end mark are never written
/// again while a slice refers to them, so slices may be read from any thread.
@safe public final class Slab: ManagedBuffer<Int, UInt8> {
    /// The usual size of a slab, in bytes.
    ///
    /// 16 KiB: one TLS record, and the default limit of a field section.
    public static let standardCapacity = 16 * 1024

    /// The size of a slab for the middle of a long body: fewer system calls for more memory.
    ///
    /// 64 KiB, as much as nginx's `proxy_buffers` together.
    public static let largeCapacity = 64 * 1024

    /// Allocates a slab, object and memory in one piece; the memory is not cleared.
    static func make(capacity: Int = Slab.standardCapacity) -> Slab {
        let buffer = Slab.create(minimumCapacity: capacity) { _ in capacity }
        return unsafe unsafeDowncast(buffer, to: Slab.self)
    }

    // By its address: it never changes, and `header` would be watched for overlapping accesses.
    /// How many bytes the slab holds.
    public var size: Int { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee } }

    @usableFromInline @inline(__always) var memory: UnsafeMutableRawPointer {
        unsafe withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    }
}
