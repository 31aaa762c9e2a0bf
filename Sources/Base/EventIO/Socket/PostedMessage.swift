import NetproxyBytes

/// A whole message to be sent at the end of the loop's turn, and its progress.
struct PostedMessage {
    /// The maximum size of a posted head, in bytes; the kernel accepts that much immediately.
    static let headLimit = 8192
    /// The maximum size of posted content, in bytes; the content is copied.
    static let contentLimit = 2048

    /// The head and the content.
    let output: OutputBuffer
    /// The number of bytes that the kernel has accepted.
    private(set) var offset = 0
    /// The deadline for all bytes, on the loop's clock.
    let deadline: UInt64

    /// Takes over a message, or returns `nil` without changing it if it is too long to be posted.
    init?(_ output: OutputBuffer, _ content: ByteSlice?, until deadline: UInt64) {
        guard output.count <= PostedMessage.headLimit else { return nil }
        if let content {
            guard content.count <= PostedMessage.contentLimit else { return nil }
            output.append(content.span)
        }
        self.output = output
        self.deadline = deadline
    }

    /// Whether the kernel has accepted the whole message.
    var isSent: Bool { offset >= output.count }

    /// Records that the kernel has accepted more bytes.
    mutating func sent(_ count: Int) { offset += count }
}
