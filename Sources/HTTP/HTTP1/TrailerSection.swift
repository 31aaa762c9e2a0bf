import NetproxyBytes
package import NetproxyHTTPMessage

/// The fields after the content of a message (RFC 9110 §6.5).
package enum TrailerSection {
    /// Fields that are meaningless or dangerous in a trailer section (RFC 9110 §6.5.1).
    private static let dropped = KnownFieldSet.hopByHop.union(
        KnownFieldSet(
            .trailer,
            .expect,
            .authorization,
            .cookie,
            .setCookie,
            .maxForwards,
            .cacheControl,
            .contentType,
            .contentEncoding,
            .contentRange,
            .range,
            .wwwAuthenticate,
            .dpop,
            .location,
            .origin
        )
    )

    /// Decodes field lines, each with CRLF, and the empty line that ends them.
    ///
    /// - Returns: the permitted fields; `nil` if there are none.
    /// - Throws: `forbiddenTrailer` for a field that frames or routes the message, or the error of a
    ///   malformed line.
    package static func decode(
        _ section: Span<UInt8>,
        limits: HTTP1Limits
    ) throws(HTTP1Error) -> HTTPHeaders? {
        var lines = LineScanner(.none, limits: limits)
        guard let length = try lines.scan(section) else { throw .cutShort }
        return try fields(of: section.extracting(0..<length), lines)
    }

    /// Returns the fields of a section whose lines are known.
    static func fields(
        of section: Span<UInt8>,
        _ lines: LineScanner
    ) throws(HTTP1Error) -> HTTPHeaders? {
        guard !lines.lineEnds.isEmpty else { return nil }
        let fields = try FieldSection(section, lines: lines, from: 0, spare: 0)
        guard fields.contentLength == nil, !fields.hasTransferEncoding, fields.hosts == 0 else {
            throw .forbiddenTrailer
        }
        var kept = fields.headers
        kept.remove(dropped)
        return kept.isEmpty ? nil : kept
    }
}
