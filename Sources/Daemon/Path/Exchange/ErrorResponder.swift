import NetproxyBytes
package import NetproxyHTTPMessage
import NetproxyRequestLog
@_spi(Proxying) package import NetworkCore

/// Turns an error into the response for the client.
package enum ErrorResponder {
    /// Returns the error's own status, or else the status of its kind.
    static func status(of error: NetworkError) -> HTTPStatus {
        if let status = error.ownStatus { return status }
        return switch error.kind {
        case .dnsTimeout, .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .httpResponseTimeout:
            504
        case .dnsError, .destinationUnavailable, .connectionRefused, .connectionTerminated,
            .tlsProtocolError, .tlsCertificateError, .httpResponseIncomplete,
            .httpResponseBodySize, .httpResponseContentCoding, .httpProtocolError,
            .unacceptableResponse, .undecodableResponse:
            502
        case .connectionLimitReached, .credentialUnavailable, .reauthorizationRequired: 503
        case .httpRequestError: 400
        case .requestHeadTimeout, .requestBodyTimeout: 408
        case .httpRequestDenied: 403
        case .noChannel: 404
        case .rateLimited: 429
        case .proxyLoopDetected: 508
        case .cancelled: 499
        case .internalError: 500
        }
    }

    /// Returns the response to an error: problem+json (RFC 9457) with `Proxy-Status` (RFC 9209).
    ///
    /// - Parameters:
    ///   - error: the error.
    ///   - channel: the name of the channel, if the request has one.
    ///   - signIn: the advice to sign in to the channel.
    ///   - requestID: the id of the exchange.
    /// - Returns: the response.
    package static func response(
        to error: NetworkError,
        channel: String?,
        signIn: String? = nil,
        requestID: String
    ) -> Response {
        let status = status(of: error)
        var problem = ProblemDocument(status: status, detail: detail(of: error, signIn: signIn))
        problem.kind = (type: error.kind.rawValue, title: title(of: error.kind))
        problem.channel = channel
        problem.requestID = requestID
        var response = problem.response
        response.headers.append(
            HTTPFieldName(known: .proxyStatus),
            validated: "netproxy; error=\(error.kind.rawValue)"
        )
        response.headers.append(.cacheControl, validated: "no-store")
        // A retry does not help if a user must sign in.
        let wait = status == 503 && error.kind != .reauthorizationRequired ? 1 : nil
        if let seconds = error.retryAfter ?? wait {
            response.headers.append(.retryAfter, validated: String(max(seconds, 1)))
        }
        if status == 401 {
            // For clients that address netproxy as the API: their response to the challenge may contain
            // the key.
            response.headers.append(.wwwAuthenticate, validated: "Basic realm=\"netproxy\"")
        }
        if status == 407 {
            // The schemes of `access.key`; some clients send a key only after this challenge.
            response.headers.append(.proxyAuthenticate, validated: "Bearer realm=\"netproxy\"")
            response.headers.append(.proxyAuthenticate, validated: "Basic realm=\"netproxy\"")
        }
        return response
    }

    /// Returns the error's own detail, followed by the advice to sign in if that is required.
    private static func detail(of error: NetworkError, signIn: String?) -> String {
        guard error.kind == .reauthorizationRequired, let signIn else { return error.detail }
        return "\(error.detail): \(signIn)"
    }

    private static func title(of kind: ErrorKind) -> String {
        switch kind {
        case .dnsTimeout: "DNS lookup for the upstream timed out"
        case .dnsError: "The upstream's name cannot be resolved"
        case .destinationUnavailable: "The upstream cannot be reached"
        case .connectionRefused: "The upstream refuses connections"
        case .connectionTerminated: "The upstream closed the connection"
        case .connectionTimeout: "Connecting to the upstream timed out"
        case .connectionReadTimeout: "A message stopped arriving"
        case .connectionWriteTimeout: "The peer stopped reading"
        case .connectionLimitReached: "Too many connections"
        case .tlsProtocolError: "TLS with the upstream failed"
        case .tlsCertificateError: "The upstream's certificate is not trusted"
        case .httpRequestError: "The request is malformed"
        case .requestHeadTimeout: "The request head did not arrive in time"
        case .requestBodyTimeout: "The request body arrived too slowly"
        case .httpRequestDenied: "The request is not allowed"
        case .httpResponseIncomplete: "The upstream's response is incomplete"
        case .httpResponseBodySize: "The upstream's response is too large"
        case .httpResponseContentCoding: "The upstream's response cannot be decoded"
        case .httpResponseTimeout: "The upstream did not respond in time"
        case .httpProtocolError: "The upstream's response is malformed"
        case .internalError: "Internal error in netproxy"
        case .proxyLoopDetected: "Proxy loop detected"
        case .credentialUnavailable: "No usable token"
        case .reauthorizationRequired: "Sign-in required"
        case .unacceptableResponse: "The upstream's response is not acceptable"
        case .undecodableResponse: "The upstream's response cannot be decoded"
        case .rateLimited: "Too many requests"
        case .noChannel: "No channel for this request"
        case .cancelled: "The client disconnected"
        }
    }
}

extension NetworkError {
    /// Creates the error of an exchange; a canceled task means that the client disconnected.
    init(ofExchange error: any Error) {
        self =
            error is CancellationError
            ? NetworkError(.cancelled, side: .downstream, detail: "the client disconnected")
            : NetworkError.of(error)
    }

    /// The error of a drain period that ended before the response began.
    static var drainEnded: NetworkError { drainEnded("the upstream answered") }

    /// The error of a drain period that ended during the response.
    static var drainEndedInResponse: NetworkError { drainEnded("the response was complete") }

    private static func drainEnded(_ before: String) -> NetworkError {
        NetworkError(
            .httpResponseTimeout,
            side: .proxy,
            detail:
                "netproxy is shutting down, or closed this listener; the drain period ended before \(before)"
        )
    }
}

/// A problem document (RFC 9457), the body of netproxy's own error responses.
package struct ProblemDocument {
    let status: HTTPStatus
    let detail: String
    /// The error code of the type, and its title.
    var kind: (type: String, title: String)?
    var channel: String?
    var requestID: String?

    package init(status: HTTPStatus, detail: String) {
        self.status = status
        self.detail = detail
    }

    /// The response that contains the document.
    package var response: Response {
        let output = OutputBuffer(capacity: 512)
        output.append("{")
        if let kind {
            output.append("\"type\":\"urn:netproxy:error:")
            output.append(kind.type)
            output.append("\",\"title\":")
            JSONText.append(kind.title, to: output)
            output.append(",")
        }
        output.append("\"status\":")
        output.append(decimal: status.rawValue)
        output.append(",\"detail\":")
        JSONText.append(detail, to: output)
        if let channel {
            output.append(",\"channel\":")
            JSONText.append(channel, to: output)
        }
        if let requestID {
            output.append(",\"request_id\":")
            JSONText.append(requestID, to: output)
        }
        output.append("}\n")
        return Response(
            status: status,
            headers: [.contentType: "application/problem+json"],
            body: .bytes(ByteSlice(output.span.array))
        )
    }
}
