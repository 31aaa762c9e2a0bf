/// What went wrong, in the words of RFC 9209 §2.3 and some of our own.
///
/// The raw value is the word in the log, in `Proxy-Status` and in the problem detail.
public enum ErrorKind: String, Sendable, CaseIterable {
    case dnsTimeout = "dns_timeout"
    case dnsError = "dns_error"
    case destinationUnavailable = "destination_unavailable"
    case connectionRefused = "connection_refused"
    case connectionTerminated = "connection_terminated"
    case connectionTimeout = "connection_timeout"
    case connectionReadTimeout = "connection_read_timeout"
    case connectionWriteTimeout = "connection_write_timeout"
    case connectionLimitReached = "connection_limit_reached"
    case tlsProtocolError = "tls_protocol_error"
    case tlsCertificateError = "tls_certificate_error"
    case httpRequestError = "http_request_error"
    case httpRequestDenied = "http_request_denied"
    case httpResponseIncomplete = "http_response_incomplete"
    case httpResponseBodySize = "http_response_body_size"
    case httpResponseTimeout = "http_response_timeout"
    case httpProtocolError = "http_protocol_error"
    case proxyInternalError = "proxy_internal_error"
    case proxyLoopDetected = "proxy_loop_detected"
    /// The token endpoint failed, and no usable token is left; trying later may help.
    case credentialUnavailable = "credential_unavailable"
    /// A person must sign in again.
    case reauthorizationRequired = "reauthorization_required"
    /// No channel claims the request.
    case noChannel = "no_channel"
    /// The head of a request took too long to arrive.
    case requestHeadTimeout = "request_head_timeout"
    /// The content of a request arrived too slowly.
    case requestBodyTimeout = "request_body_timeout"
    /// The response is none that the endpoint accepts; the error keeps it.
    case unacceptableResponse = "unacceptable_response"
    /// The content of the response is not what was asked for.
    case undecodableResponse = "undecodable_response"
    /// The caller gave up.
    case cancelled = "cancelled"
}
