import NetproxyHTTP1
import NetproxyHTTPMessage

/// The content of a response, judged by its head.
enum ResponseContent {
    case none
    /// There is none, but the head announces some, as after HEAD or with 304: a confused origin sends the
    /// content nevertheless, and soon.
    case doubtful
    /// All of it is in the buffer.
    case buffered(Int)
    /// It still arrives, up to its length or its last chunk.
    case streamed(length: Int?)
    /// It still arrives, and the end of the connection delimits it.
    case untilClose

    /// Judges a head whose headers the caller has moved out.
    @inline(__always)
    init(
        _ head: borrowing ResponseHead,
        _ headers: borrowing HTTPHeaders,
        buffered count: Int
    ) {
        switch head.framing {
        case .none:
            let isAnnounced =
                (head.announcedLength ?? 0) > 0 || headers.contains(KnownField.transferEncoding)
            self = isAnnounced ? .doubtful : .none
        case .length(0): self = .none
        case .length(let length) where length <= count: self = .buffered(length)
        case .length(let length): self = .streamed(length: length)
        case .chunked: self = .streamed(length: nil)
        case .untilClose: self = .untilClose
        }
    }
}
