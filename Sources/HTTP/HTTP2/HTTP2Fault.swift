package import NetproxyHTTP1
package import NetproxyHTTPMessage

/// The reason for refusing a message; the connection continues.
package enum HTTP2Fault: Error, Sendable, Equatable {
    /// A fault that also exists in HTTP/1.
    case message(HTTP1Error)
    case malformedFieldName, malformedFieldValue, connectionField
    case missingPseudoField, repeatedPseudoField, misplacedPseudoField, unknownPseudoField
    case malformedPseudoField, unsupportedScheme
    case contentBeyondLength, contentBelowLength, unexpectedContent, unfinishedTrailers

    /// The status of the response to a request with this fault.
    package var status: HTTPStatus {
        if case .message(let error) = self { error.status } else { 400 }
    }

    /// The reason for the log, as a clause.
    package var reason: StaticString {
        switch self {
        case .message(let error): error.reason
        case .malformedFieldName: "a field name is empty, not a token, or not in lower case"
        case .malformedFieldValue: "a field value has a control byte"
        case .connectionField:
            "a field of one connection, such as Transfer-Encoding, has no place in HTTP/2"
        case .missingPseudoField: "a pseudo-field is missing, or empty"
        case .repeatedPseudoField: "duplicate pseudo-field"
        case .misplacedPseudoField: "a pseudo-field follows a field, or is in the trailers"
        case .unknownPseudoField: "a pseudo-field that this kind of message does not have"
        case .malformedPseudoField: "a pseudo-field has a value that it must not have"
        case .unsupportedScheme: "the :scheme is neither http nor https"
        case .contentBeyondLength: "more content than Content-Length says"
        case .contentBelowLength: "less content than Content-Length says"
        case .unexpectedContent: "content where the message has none"
        case .unfinishedTrailers: "trailers that do not end the message"
        }
    }
}

/// The reason for the end of a stream or a connection (RFC 9113 §7).
package struct HTTP2Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2Code(rawValue: 0)
    package static let protocolError = HTTP2Code(rawValue: 1)
    package static let internalError = HTTP2Code(rawValue: 2)
    package static let refusedStream = HTTP2Code(rawValue: 7)
    package static let cancel = HTTP2Code(rawValue: 8)
    package static let enhanceYourCalm = HTTP2Code(rawValue: 11)
    package static let http11Required = HTTP2Code(rawValue: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name in the standard, or the number if it has none.
    package var description: String {
        rawValue < UInt32(HTTP2Code.names.count)
            ? HTTP2Code.names[Int(rawValue)] : "error \(rawValue)"
    }
}

/// The reason for ending a connection, after the output of its session.
package struct HTTP2ConnectionError: Error, Sendable, Equatable {
    /// The fault of the peer.
    package let reason: String
}
