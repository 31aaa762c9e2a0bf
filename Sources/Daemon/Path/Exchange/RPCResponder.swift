import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// Turns an error into a response for a gRPC client: the status 200, with the status of the call in the
/// head (Trailers-Only).
enum RPCResponder {
    /// Returns the gRPC response to an error.
    ///
    /// - Parameters:
    ///   - error: the error.
    ///   - response: the response for any other client.
    /// - Returns: the response in the form of gRPC, with the same `Proxy-Status` and `Retry-After`.
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

    /// Returns the status that gRPC libraries derive from the HTTP status, or a more precise one if the
    /// error permits it.
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

    /// Encodes a text for the message field: everything but visible ASCII is percent-encoded.
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
