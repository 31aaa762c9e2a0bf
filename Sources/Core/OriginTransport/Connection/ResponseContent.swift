import NetproxyHTTP1
import NetproxyHTTPMessage

/// The content of a response, as its head declares it.
enum ResponseContent {
    case none
    /// There is no content although the head announces some, as after HEAD or with 304. A faulty origin may
    /// still send it soon.
    case doubtful
    /// The buffer contains all of the content.
    case buffered(Int)
    /// The content is still arriving, up to its length or its last chunk.
    case streamed(length: Int?)
    /// The content is still arriving, and the end of the connection delimits it.
    case untilClose

    /// Reads a head whose headers the caller has moved out.
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
