import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// Turns an error into a response for a gRPC client: HTTP status 200, with the status of the call in the head
/// (Trailers-Only), or in the only frame of gRPC-Web.
enum RPCResponder {
    /// Returns the response to an error in a form of gRPC.
    ///
    /// - Parameters:
    ///   - error: the error.
    ///   - response: the response for any other client.
    ///   - form: the form of the call.
    /// - Returns: the response, with the same `Proxy-Status` and `Retry-After`.
    static func response(
        to error: NetworkError,
        as response: Response,
        in form: RPCForm
    ) -> Response {
        let ending = ending(of: error, response.status)
        var headers: HTTPHeaders = [.contentType: form.contentType]
        var body = HTTPBody.empty
        if let frame = ending.frame(in: form) {
            body = .bytes(frame)
        } else {
            headers.append(ending.fields)
        }
        for name in [HTTPFieldName(known: .proxyStatus), .retryAfter] {
            if let value = response.headers[name] { headers.append(name, validated: value) }
        }
        return Response(status: 200, headers: headers, body: body)
    }

    /// Returns the end of a call whose response an error cut short.
    ///
    /// A canceled task means that the drain has ended: otherwise there is no client to read the end.
    static func ending(after error: any Error) -> RPCEnding {
        var error = NetworkError(ofExchange: error)
        if error.kind == .cancelled { error = .drainEndedInResponse }
        return ending(of: error, ErrorResponder.status(of: error))
    }

    private static func ending(of error: NetworkError, _ status: HTTPStatus) -> RPCEnding {
        RPCEnding(self.status(of: error, status), error.detail)
    }

    /// Returns the status that gRPC libraries derive from the HTTP status, or a more precise one if the
    /// error permits it.
    static func status(of error: NetworkError, _ status: HTTPStatus) -> RPCStatus {
        switch error.kind {
        // The end of a drain: another attempt reaches the next process.
        case .httpResponseTimeout where error.side == .proxy: .unavailable
        case .connectionReadTimeout, .connectionWriteTimeout, .httpResponseTimeout,
            .requestHeadTimeout, .requestBodyTimeout:
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
            case 413, 414, 429, 431: .resourceExhausted
            case 502, 503, 504: .unavailable
            default: .internalError
            }
        }
    }
}
