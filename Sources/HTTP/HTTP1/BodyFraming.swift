import NetproxyBytes
import NetproxyHTTPMessage

/// The framing of a body (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Equatable {
    /// No body.
    case none
    /// A number of bytes.
    case length(Int)
    /// Chunks, the last of which is empty.
    case chunked
    /// All bytes until the connection ends; responses only.
    case untilClose
}

/// The length of a message body, by the numbered rules of RFC 9112 §6.3.
///
/// The fields must be valid even if rule 1 or 2 makes them irrelevant, because the next server could rely on
/// them.
struct BodyLength {
    var framing: BodyFraming
    /// The Content-Length of a response without a body.
    var announced: Int?
    /// Whether the next message certainly begins after the body.
    var isCertain = true

    /// Determines the body of a request.
    init(
        ofRequest version: HTTP1Version,
        _ fields: borrowing FieldSection,
        in head: Span<UInt8>
    ) throws(HTTP1Error) {
        // Rules 3 to 6, else rule 7: a request without framing fields has no body.
        framing = try BodyLength.fromFields(fields, version, in: head) ?? .none
    }

    /// Determines the body of a response.
    init(
        of status: HTTPStatus,
        answering method: HTTPMethod,
        framedBy fromFields: BodyFraming?,
        announcing contentLength: Int?
    ) throws(HTTP1Error) {
        let announcesContent = fromFields != nil && fromFields != .length(0)
        switch status.rawValue {
        // 1. No body after 1xx, 204, 304 and in response to HEAD, regardless of the fields.
        case 100..<200:
            // It is unclear whether content or the final response follows.
            guard !announcesContent else { throw .framedInterimResponse }
            framing = .none
        case 204:
            framing = .none
            // Content that a faulty server sends anyway must not be read as the next response.
            isCertain = !announcesContent
        // 2. A successful CONNECT begins a tunnel.
        case 200..<300 where method == .connect:
            framing = .none
        case 304:
            (framing, announced) = (.none, contentLength)
        case _ where method == .head:
            (framing, announced) = (.none, contentLength)
        default:
            // Rules 3 to 6, else rule 8: a response without framing fields ends with its connection.
            framing = fromFields ?? .untilClose
            isCertain = framing != .untilClose
        }
    }

    /// Applies rules 3 to 6, which requests and responses share; `nil` if no field frames the body.
    static func fromFields(
        _ fields: borrowing FieldSection,
        _ version: HTTP1Version,
        in head: Span<UInt8>
    ) throws(HTTP1Error) -> BodyFraming? {
        guard let coding = fields.transferEncoding(in: head) else {
            // 5. An invalid Content-Length was refused when its line was parsed. 6. A valid one is the
            //    length.
            return fields.contentLength.map { .length($0) }
        }
        // RFC 9112 §6.1: Transfer-Encoding in HTTP/1.0 is faulty framing.
        guard version == .http11 else { throw .transferEncodingInHTTP10 }
        // 3. Transfer-Encoding together with Content-Length can be request smuggling.
        guard fields.contentLength == nil else { throw .conflictingFraming }
        // 4. Chunked must be the last coding, and it is the only one supported here.
        try requireChunked(coding)
        return .chunked
    }

    /// Requires `chunked`, in any case and alone.
    ///
    /// A list that ends with `chunked` names an unsupported coding; anything else is malformed (RFC 9112
    /// §6.1, §7).
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
