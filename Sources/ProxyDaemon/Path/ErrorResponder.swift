import Bytes
import HTTPMessage
import NetworkCore
import RequestLog

/// Turns an error into the answer that an app gets: the error's own status, or that of its kind.
enum ErrorResponder {
    /// The status of each kind, where the error does not bring its own.
    static func status(of error: NetworkError) -> HTTPStatus {
        if let status = error.status { return status }
        return switch error.kind {
        case .dnsTimeout, .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .httpResponseTimeout:
            504
        case .dnsError, .destinationUnavailable, .connectionRefused, .connectionTerminated,
            .tlsProtocolError, .tlsCertificateError, .httpResponseIncomplete,
            .httpResponseBodySize, .httpProtocolError, .unacceptableResponse,
            .undecodableResponse:
            502
        case .connectionLimitReached, .credentialUnavailable, .reauthorizationRequired: 503
        case .httpRequestError: 400
        case .requestHeadTimeout, .requestBodyTimeout: 408
        case .httpRequestDenied: 403
        case .noChannel: 404
        case .proxyLoopDetected: 508
        case .cancelled: 499
        case .proxyInternalError: 500
        }
    }

    /// The answer: problem+json (RFC 9457) with `Proxy-Status` (RFC 9209); `signIn` tells who must sign
    /// in how.
    static func response(
        to error: NetworkError,
        channel: String?,
        signIn: String? = nil,
        requestID: String
    ) -> Response {
        let status = status(of: error)
        let output = OutputBuffer(capacity: 512)
        output.append("{\"type\":\"urn:netproxy:error:")
        output.append(error.kind.rawValue)
        output.append("\",\"title\":")
        JSONText.append(title(of: error.kind), to: output)
        output.append(",\"status\":")
        output.append(decimal: status.rawValue)
        output.append(",\"detail\":")
        JSONText.append(detail(of: error, signIn: signIn), to: output)
        if let channel {
            output.append(",\"channel\":")
            JSONText.append(channel, to: output)
        }
        output.append(",\"request_id\":")
        JSONText.append(requestID, to: output)
        output.append("}\n")
        var headers: HTTPHeaders = [.contentType: "application/problem+json"]
        headers.append(
            HTTPFieldName(known: .proxyStatus),
            validated: "netproxy; error=\(error.kind.rawValue)"
        )
        headers.append(.cacheControl, validated: "no-store")
        // Who must sign in does not do so by trying again.
        let wait = status == 503 && error.kind != .reauthorizationRequired ? 1 : nil
        if let seconds = error.retryAfter ?? wait {
            headers.append(.retryAfter, validated: String(max(seconds, 1)))
        }
        if status == 407 {
            // What `access.key` takes: some clients send nothing until they are asked, and then only this.
            headers.append(.proxyAuthenticate, validated: "Bearer realm=\"netproxy\"")
            headers.append(.proxyAuthenticate, validated: "Basic realm=\"netproxy\"")
        }
        return Response(
            status: status,
            headers: headers,
            body: .bytes(ByteSlice(output.span.array))
        )
    }

    /// The error's clause; who must sign in is told how.
    private static func detail(of error: NetworkError, signIn: String?) -> String {
        guard error.kind == .reauthorizationRequired, let signIn else { return error.detail }
        return "\(error.detail): \(signIn)"
    }

    private static func title(of kind: ErrorKind) -> String {
        switch kind {
        case .dnsTimeout: "Resolving the upstream's name took too long"
        case .dnsError: "The upstream's name cannot be resolved"
        case .destinationUnavailable: "The upstream cannot be reached"
        case .connectionRefused: "The upstream refuses connections"
        case .connectionTerminated: "The upstream closed the connection"
        case .connectionTimeout: "Connecting to the upstream took too long"
        case .connectionReadTimeout: "A message stopped arriving"
        case .connectionWriteTimeout: "A message was not taken in time"
        case .connectionLimitReached: "Too many connections"
        case .tlsProtocolError: "TLS with the upstream failed"
        case .tlsCertificateError: "The upstream's certificate is not trusted"
        case .httpRequestError: "The request is malformed"
        case .requestHeadTimeout: "The request's head took too long"
        case .requestBodyTimeout: "The request's content arrived too slowly"
        case .httpRequestDenied: "The request is not allowed"
        case .httpResponseIncomplete: "The upstream cut its answer short"
        case .httpResponseBodySize: "The upstream's answer is too large"
        case .httpResponseTimeout: "The upstream did not answer in time"
        case .httpProtocolError: "The upstream's answer is malformed"
        case .proxyInternalError: "netproxy failed"
        case .proxyLoopDetected: "The request goes round in a circle"
        case .credentialUnavailable: "No usable token"
        case .reauthorizationRequired: "A person must sign in"
        case .unacceptableResponse: "The upstream's answer is not acceptable"
        case .undecodableResponse: "The upstream's answer cannot be read"
        case .noChannel: "No channel for this request"
        case .cancelled: "The app went away"
        }
    }
}

/// Text as a JSON string.
enum JSONText {
    static func append(_ text: String, to output: OutputBuffer) {
        output.append(UInt8(ascii: "\""))
        output.append(escaped: text)
        output.append(UInt8(ascii: "\""))
    }
}
