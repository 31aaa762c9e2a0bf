import NetproxyBytes

/// A whole message that is sent when the loop's turn ends, and how far it is.
struct PostedMessage {
    /// The longest head that is posted, in bytes: the kernel takes as much at once.
    static let headLimit = 8192
    /// The longest content that is posted, in bytes: it is copied.
    static let contentLimit = 2048

    /// Head and content.
    let output: OutputBuffer
    /// The number of bytes that the kernel has accepted.
    private(set) var offset = 0
    /// When the kernel must have accepted all bytes, on the loop's clock.
    let deadline: UInt64

    /// Takes a message over, or returns `nil` and leaves it alone if it is too long to be posted.
    init?(_ output: OutputBuffer, _ content: ByteSlice?, until deadline: UInt64) {
        guard output.count <= PostedMessage.headLimit else { return nil }
        if let content {
            guard content.count <= PostedMessage.contentLimit else { return nil }
            output.append(content.span)
        }
        self.output = output
        self.deadline = deadline
    }

    /// Whether the kernel has all of it.
    var isSent: Bool { offset >= output.count }

    /// Notes that the kernel took some bytes more.
    mutating func sent(_ count: Int) { offset += count }
}
