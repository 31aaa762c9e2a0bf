import NetproxyBytes
import NetproxyHTTPMessage

/// How the end of a body is known (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    /// There is no body.
    case none
    /// A number of bytes.
    case length(Int)
    /// Chunks, the last of which is empty.
    case chunked
    /// Everything until the connection ends; responses only.
    case untilClose
}

/// How long the body of a message is: the rules of RFC 9112 §6.3 by their numbers.
///
/// The fields must be in order even where rule 1 or 2 makes them irrelevant, since the next server
/// may go by them.
struct BodyLength {
    var framing: BodyFraming
    /// The Content-Length of a response without a body.
    var announced: Int?
    /// Whether the next message certainly begins after the body.
    var isCertain = true

    /// The body of a request.
    init(
        ofRequest version: HTTP1Version,
        _ fields: borrowing FieldSection,
        in head: Span<UInt8>
    ) throws(HTTP1Error) {
        // 3 to 6, else 7: a request that says nothing has no body.
        framing = try BodyLength.fromFields(fields, version, in: head) ?? .none
    }

    /// The body of a response.
    init(
        of status: HTTPStatus,
        answering method: HTTPMethod,
        framedBy fromFields: BodyFraming?,
        announcing contentLength: Int?
    ) throws(HTTP1Error) {
        let announcesContent = fromFields != nil && fromFields != .length(0)
        switch status.rawValue {
        // 1. No body after 1xx, 204, 304 and in answer to HEAD, whatever the fields say.
        case 100..<200:
            // Whether content or the final response follows is anyone's guess.
            guard !announcesContent else { throw .framedInterimResponse }
            framing = .none
        case 204:
            framing = .none
            // What a confused server sends all the same must not be read as the next response.
            isCertain = !announcesContent
        // 2. A successful CONNECT begins a tunnel.
        case 200..<300 where method == .connect:
            framing = .none
        case 304:
            (framing, announced) = (.none, contentLength)
        case _ where method == .head:
            (framing, announced) = (.none, contentLength)
        default:
            // 3 to 6, else 8: a response that says nothing ends with its connection.
            framing = fromFields ?? .untilClose
            isCertain = framing != .untilClose
        }
    }

    /// Rules 3 to 6, which requests and responses share; nil where no field frames the body.
    static func fromFields(
        _ fields: borrowing FieldSection,
        _ version: HTTP1Version,
        in head: Span<UInt8>
    ) throws(HTTP1Error) -> BodyFraming? {
        guard let coding = fields.transferEncoding(in: head) else {
            // 5. An invalid Content-Length was refused when its line was read.
            // 6. A valid one is the length.
            return fields.contentLength.map { .length($0) }
        }
        // RFC 9112 §6.1: Transfer-Encoding in HTTP/1.0 is faulty framing.
        guard version == .http11 else { throw .transferEncodingInHTTP10 }
        // 3. Transfer-Encoding and Content-Length together may be request smuggling.
        guard fields.contentLength == nil else { throw .conflictingFraming }
        // 4. Chunked must be the last coding, and it is the only one known here.
        try requireChunked(coding)
        return .chunked
    }

    /// Accepts `chunked` in any case, alone.
    ///
    /// A list that ends in `chunked` names a coding that is not supported; anything else is malformed
    /// (RFC 9112 §6.1, §7).
    private static func requireChunked(_ value: Span<UInt8>) throws(HTTP1Error) {
        if value.equals("chunked", in: 0..<value.count) { return }
        var count = 0
        var chunkedAt: Int?
        var isTwice = false
        let isList = value.forEachElement { element in
            if value.equals("chunked", in: element) {
                isTwice = isTwice || chunkedAt != nil
                chunkedAt = count
            }
            count += 1
        }
        guard isList, count > 0, !isTwice, chunkedAt.map({ $0 == count - 1 && count > 1 }) ?? true
        else { throw .malformedTransferEncoding }
        throw .unsupportedTransferEncoding
    }
}
