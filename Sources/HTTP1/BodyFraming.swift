/// How the end of a body is known (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    /// There is no body.
    case none
    /// So many bytes.
    case length(Int)
    /// Chunks, the last of which is empty.
    case chunked
    /// Everything until the connection ends; responses only.
    case untilClose
}
