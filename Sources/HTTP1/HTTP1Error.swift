package import HTTPMessage

/// Why a message is refused.
///
/// After any of these the connection closes: where the next message would begin is in doubt.
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

    /// The status that answers a request with this fault; in a response every fault means 502.
    package var status: HTTPStatus { row.0 }
    /// One clause that a person can act on.
    package var reason: StaticString { row.1 }

    private var row: (HTTPStatus, StaticString) {
        switch self {
        case .bareLineFeed: (400, "a line ends with LF alone instead of CRLF")
        case .bareCarriageReturn: (400, "a CR is not followed by LF")
        case .controlByte: (400, "the field section holds a control byte")
        case .encryptedRequest:
            (400, "this is TLS, and only plain HTTP is spoken here: use http://")
        case .sectionTooLarge: (431, "the field section is too large")
        case .tooManyFields: (431, "the field section has too many lines")
        case .targetTooLong: (414, "the request target is too long")
        case .malformedRequestLine:
            (400, "the request line is not method, target and HTTP/1.1 between single spaces")
        case .malformedStatusLine:
            (400, "the status line is not HTTP/1.1, a space and three digits")
        case .unsupportedVersion: (505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
        case .malformedTarget:
            (
                400,
                """
                the request target has a byte that must be percent-encoded, %00, or a % without two \
                hexadecimal digits in its path
                """
            )
        case .unsuitableTarget:
            (
                400,
                """
                the request target is neither a path nor an http:// or https:// URL with a host and \
                without a user (for CONNECT: host:port)
                """
            )
        case .foldedLine: (400, "a field line starts with white space")
        case .malformedFieldName: (400, "a field name is empty, no token or without a colon")
        case .spaceBeforeColon: (400, "white space stands between a field name and its colon")
        case .malformedContentLength: (400, "Content-Length is not a number of 1 to 18 digits")
        case .repeatedContentLength: (400, "Content-Length stands there twice")
        case .malformedTransferEncoding: (400, "Transfer-Encoding does not end in one chunked")
        case .repeatedTransferEncoding: (400, "Transfer-Encoding stands there twice")
        case .unsupportedTransferEncoding: (501, "no transfer coding but chunked is supported")
        case .transferEncodingInHTTP10: (400, "HTTP/1.0 has no Transfer-Encoding")
        case .conflictingFraming: (400, "Content-Length and Transfer-Encoding exclude each other")
        case .framedInterimResponse: (400, "an interim response announces content")
        case .missingHost: (400, "the Host field is missing")
        case .repeatedHost: (400, "the Host field stands there twice")
        case .malformedHost: (400, "the Host field is not a host with an optional port")
        case .hostMismatch: (400, "Host and the authority of the request target differ")
        case .malformedConnection: (400, "the Connection field is not a list of tokens")
        case .unsupportedExpectation: (417, "the only expectation understood is 100-continue")
        case .malformedChunkSize:
            (400, "a chunk size is not at most 15 hexadecimal digits, behind noughts, and CRLF")
        case .malformedChunkExtension:
            (400, "a chunk extension is not ;name, ;name=token or ;name=\"text\"")
        case .chunkExtensionTooLarge: (413, "the chunk extensions are too large")
        case .malformedChunkEnd: (400, "a chunk is not followed by CRLF")
        case .forbiddenTrailer: (400, "a trailer field frames or routes the message")
        case .cutShort: (400, "the connection ended in the middle of the message")
        }
    }
}
