import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// Turns an error into the answer that a gRPC client understands: the status 200, and the call's own status in
/// its head (Trailers-Only).
enum RPCResponder {
    /// The answer.
    ///
    /// - Parameters:
    ///   - error: what failed.
    ///   - response: what any other client gets.
    /// - Returns: the same in gRPC's words; `Proxy-Status` and `Retry-After` stay.
    static func response(to error: NetworkError, as response: Response) -> Response {
        var headers: HTTPHeaders = [.contentType: "application/grpc"]
        headers.append(
            HTTPField(validated: RPCStatus.field, "\(status(of: error, response.status).rawValue)")
        )
        headers.append(HTTPField(validated: RPCStatus.messageField, message(error.detail)))
        for name in [HTTPFieldName(known: .proxyStatus), .retryAfter] {
            if let value = response.headers[name] { headers.append(name, validated: value) }
        }
        return Response(status: 200, headers: headers)
    }

    /// The status that the libraries of gRPC would make of the answer, and a better one where we know more.
    static func status(of error: NetworkError, _ status: HTTPStatus) -> RPCStatus {
        switch error.kind {
        case .connectionReadTimeout, .connectionWriteTimeout, .httpResponseTimeout:
            .deadlineExceeded
        case .reauthorizationRequired: .unauthenticated
        case .connectionLimitReached: .resourceExhausted
        case .noChannel: .unimplemented
        case .cancelled: .cancelled
        default:
            switch status.rawValue {
            case 401, 407: .unauthenticated
            case 403, 421: .permissionDenied
            case 404, 501: .unimplemented
            case 413, 429, 431: .resourceExhausted
            case 502, 503, 504: .unavailable
            default: .internalError
            }
        }
    }

    /// A text as the field holds it: percent-encoded but for visible ASCII.
    private static func message(_ text: String) -> String {
        var result: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
