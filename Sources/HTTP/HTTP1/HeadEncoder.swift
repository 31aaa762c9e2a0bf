package import NetproxyBytes
package import NetproxyHTTPMessage

/// The connection directive in a head.
package enum ConnectionDirective: Sendable, Equatable {
    /// No directive; in HTTP/1.1 the connection stays open.
    case persistent
    /// `Connection: keep-alive` with the idle timeout in seconds.
    ///
    /// Clients that support it close first, and lose no request to a simultaneous close.
    case kept(seconds: Int)
    /// `Connection: close`.
    case close
}

/// Encodes heads.
///
/// Host, framing and connection fields come from the arguments alone; such lines in `headers` are omitted.
package enum HeadEncoder {
    private static let written = KnownFieldSet(
        .contentLength,
        .transferEncoding,
        .connection,
        .keepAlive,
        .proxyConnection,
        .te,
        .upgrade
    )
    static let writtenInRequests = written.union(KnownFieldSet(.host))

    /// Encodes a request head.
    ///
    /// Target and host must be visible ASCII, and the framing must not be `untilClose`; a violation is a
    /// programming error and traps. `hopFields` are for the next hop only, such as `TE` or `Upgrade`.
    package static func encodeRequest(
        method: HTTPMethod,
        target: String,
        host: String,
        headers: HTTPHeaders,
        framing: BodyFraming,
        connection: ConnectionDirective = .persistent,
        hopFields: HTTPHeaders = HTTPHeaders(),
        into output: OutputBuffer
    ) {
        precondition(isVisible(target), "a request target is visible ASCII")
        precondition(isVisible(host), "a host is visible ASCII")
        precondition(framing != .untilClose, "a request's body cannot end with the connection")
        output.append(method.rawValue)
        output.append(0x20)
        output.append(target)
        output.append(" HTTP/1.1\r\nHost: ")
        output.append(host)
        output.append("\r\n")
        headers.encode(into: output, omitting: writtenInRequests)
        if framing == .none, method.anticipatesContent {
            // RFC 9110 §8.6: otherwise the origin would wait for content, or require a length.
            encode(.length(0), into: output)
        } else {
            encode(framing, into: output)
        }
        encode(connection, hopFields, into: output)
    }

    /// Encodes the head of a final response.
    ///
    /// `announcedLength` is the Content-Length of a response without a body: a response to HEAD, or 304. If
    /// the body ends with the connection, the head contains `Connection: close`. `date` is the time, in
    /// seconds since 1970, at which a response without a `Date` field was received.
    package static func encodeResponse(
        status: HTTPStatus,
        headers: HTTPHeaders,
        date: UInt64? = nil,
        framing: BodyFraming,
        announcedLength: Int? = nil,
        connection: ConnectionDirective = .persistent,
        hopFields: HTTPHeaders = HTTPHeaders(),
        into output: OutputBuffer
    ) {
        encode(status, into: output)
        headers.encode(into: output, omitting: written)
        if let date {
            output.append("Date: ")
            HTTPDate.append(date, to: output)
            output.append("\r\n")
        }
        if framing == .none, let announcedLength {
            encode(.length(announcedLength), into: output)
        } else {
            encode(framing, into: output)
        }
        encode(framing == .untilClose ? .close : connection, hopFields, into: output)
    }

    /// Encodes an interim response, or 101 with its hop fields.
    package static func encodeInformational(
        status: HTTPStatus,
        headers: HTTPHeaders = HTTPHeaders(),
        hopFields: HTTPHeaders = HTTPHeaders(),
        into output: OutputBuffer
    ) {
        precondition(status.kind == .informational, "an interim response is 1xx")
        encode(status, into: output)
        headers.encode(into: output, omitting: written)
        encode(.persistent, hopFields, into: output)
    }

    private static func encode(_ status: HTTPStatus, into output: OutputBuffer) {
        output.append("HTTP/1.1 ")
        output.append(decimal: status.rawValue)
        output.append(0x20)
        output.append(status.reasonPhrase)
        output.append("\r\n")
    }

    private static func encode(_ framing: BodyFraming, into output: OutputBuffer) {
        switch framing {
        case .none, .untilClose: break
        case .chunked: output.append("Transfer-Encoding: chunked\r\n")
        case .length(let length):
            output.append("Content-Length: ")
            output.append(decimal: length)
            output.append("\r\n")
        }
    }

    /// Encodes the fields of the connection and the empty line.
    private static func encode(
        _ connection: ConnectionDirective,
        _ hopFields: HTTPHeaders,
        into output: OutputBuffer
    ) {
        switch connection {
        case .persistent: break
        case .kept(let seconds):
            output.append("Keep-Alive: timeout=")
            output.append(decimal: seconds)
            output.append("\r\nConnection: keep-alive\r\n")
        case .close: output.append("Connection: close\r\n")
        }
        hopFields.encode(into: output)
        output.append("\r\n")
    }

    private static func isVisible(_ text: String) -> Bool {
        let bytes = text.utf8.span
        return !bytes.isEmpty && Grammar.isTarget(bytes)
    }
}

extension HTTPMethod {
    /// Whether the method defines a meaning for request content (RFC 9110 §9.3.3, RFC 5789).
    fileprivate var anticipatesContent: Bool { self == .post || self == .put || self == .patch }
}
