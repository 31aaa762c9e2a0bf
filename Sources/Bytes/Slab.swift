// SAFETY: the memory belongs to this object from init to deinit; bytes below the owner's end mark
// are immutable while the slab is shared, which `ReadBuffer` guarantees.
/// A fixed piece of memory that bytes are read into and that slices keep alive.
///
/// One owner writes to it (a `ReadBuffer`); what lies in front of the owner's end mark is never
/// written again while a slice refers to it, so slices may be read from any thread.
@safe public final class Slab: @unchecked Sendable {
    /// The size of a slab where nobody asks for another, in bytes.
    ///
    /// 16 KiB: one TLS record, and the default limit of a field section.
    public static let standardCapacity = 16 * 1024

    /// The size of a slab for the middle of a long body: fewer system calls for more memory.
    ///
    /// 64 KiB, like nginx's `proxy_buffers` altogether.
    public static let largeCapacity = 64 * 1024

    @usableFromInline let memory: UnsafeMutableRawPointer
    /// How many bytes the slab holds.
    public let capacity: Int

    /// Allocates a slab; the memory is not cleared.
    public init(capacity: Int = Slab.standardCapacity) {
        self.capacity = capacity
        unsafe memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }
}
