package import NetproxyHTTPMessage

/// The reason for refusing a message.
///
/// The connection then closes, because the start of the next message is unknown.
package enum HTTP1Error: Error, Sendable, CaseIterable {
    case bareLineFeed, bareCarriageReturn, controlByte, encryptedRequest
    case sectionTooLarge, tooManyFields, targetTooLong
    case malformedRequestLine, malformedStatusLine, unsupportedVersion
    case malformedTarget, unsuitableTarget
    case foldedLine, malformedFieldName, spaceBeforeColon
    case malformedContentLength, repeatedContentLength
    case malformedTransferEncoding, repeatedTransferEncoding, unsupportedTransferEncoding
    case transferEncodingInHTTP10, conflictingFraming, framedInterimResponse
    case missingHost, repeatedHost, malformedHost, hostMismatch
    case malformedConnection, unsupportedExpectation
    case malformedChunkSize, malformedChunkExtension, chunkExtensionTooLarge, malformedChunkEnd
    case forbiddenTrailer, cutShort

    /// The response status for a request with this fault; a faulty response always results in 502.
    package var status: HTTPStatus { row.0 }
    /// The reason for the log, as a clause.
    package var reason: StaticString { row.1 }

    /// Whether a proxy may repair a response with this fault; see `MendedHead`.
    var isMendable: Bool {
        switch self {
        case .foldedLine, .spaceBeforeColon, .malformedContentLength, .repeatedContentLength: true
        default: false
        }
    }

    private var row: (HTTPStatus, StaticString) {
        switch self {
        case .bareLineFeed: (400, "a line ends with a bare LF instead of CRLF")
        case .bareCarriageReturn: (400, "a CR is not followed by LF")
        case .controlByte: (400, "the field section contains a control byte")
        case .encryptedRequest:
            (400, "this is TLS, but only plain HTTP is spoken here: use http://")
        case .sectionTooLarge: (431, "the field section is too large")
        case .tooManyFields: (431, "the field section has too many field lines")
        case .targetTooLong: (414, "the request target is too long")
        case .malformedRequestLine:
            (400, "the request line is not METHOD TARGET HTTP/1.1, separated by single spaces")
        case .malformedStatusLine:
            (400, "the status line is not HTTP/1.1, a space and a three-digit status")
        case .unsupportedVersion: (505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
        case .malformedTarget:
            (
                400,
                """
                the request target has a byte that must be percent-encoded, %00, or a % without two \
                hex digits in its path
                """
            )
        case .unsuitableTarget:
            (
                400,
                """
                the request target is neither a path nor an http:// or https:// URL with a host and no \
                user information (for CONNECT: host:port)
                """
            )
        case .foldedLine: (400, "a field line starts with white space")
        case .malformedFieldName: (400, "a field name is empty, is not a token or has no colon")
        case .spaceBeforeColon: (400, "white space between a field name and its colon")
        case .malformedContentLength: (400, "Content-Length is not a number of 1 to 18 digits")
        case .repeatedContentLength: (400, "duplicate Content-Length")
        case .malformedTransferEncoding: (400, "Transfer-Encoding does not end in a single chunked")
        case .repeatedTransferEncoding: (400, "duplicate Transfer-Encoding")
        case .unsupportedTransferEncoding: (501, "chunked is the only transfer coding supported")
        case .transferEncodingInHTTP10: (400, "Transfer-Encoding is not allowed in HTTP/1.0")
        case .conflictingFraming: (400, "Content-Length together with Transfer-Encoding")
        case .framedInterimResponse: (400, "an interim response announces content")
        case .missingHost: (400, "the Host field is missing")
        case .repeatedHost: (400, "duplicate Host")
        case .malformedHost: (400, "the Host field is not a host with an optional port")
        case .hostMismatch: (400, "Host differs from the authority of the request target")
        case .malformedConnection: (400, "the Connection field is not a list of tokens")
        case .unsupportedExpectation: (417, "100-continue is the only expectation supported")
        case .malformedChunkSize:
            (400, "a chunk size is not 1 to 15 hex digits (leading zeros allowed), then CRLF")
        case .malformedChunkExtension:
            (400, "a chunk extension is not ;name, ;name=token or ;name=\"text\"")
        case .chunkExtensionTooLarge: (413, "the chunk extensions are too large")
        case .malformedChunkEnd: (400, "a chunk is not followed by CRLF")
        case .forbiddenTrailer: (400, "a trailer field must not frame or route the message")
        case .cutShort: (400, "the connection ended in the middle of the message")
        }
    }
}
