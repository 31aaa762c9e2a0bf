import Bytes
import HTTPMessage

/// Which codings are accepted: `chunked`, alone.
enum TransferEncoding {
    /// Passes for `chunked` in any case.
    ///
    /// A list in order that names another coding is not
    /// implemented; anything else is malformed (RFC 9112 §6.1, §7).
    static func requireChunked(_ value: Span<UInt8>) throws(HTTP1Error) {
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
