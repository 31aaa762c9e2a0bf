/// What went wrong, in the words of RFC 9209 §2.3 and some of our own.
///
/// The raw value is the word in the log, and in the daemon's `Proxy-Status` and problem detail; what only a
/// daemon can meet is its SPI.
@nonexhaustive
public enum ErrorKind: String, Sendable, CaseIterable {
    /// Resolving the name took too long.
    case dnsTimeout = "dns_timeout"
    /// The name does not resolve.
    case dnsError = "dns_error"
    /// There is no route to the address.
    case destinationUnavailable = "destination_unavailable"
    /// No process listens at the address.
    case connectionRefused = "connection_refused"
    /// The connection was closed before there was an answer.
    case connectionTerminated = "connection_terminated"
    /// Connecting, the TLS handshake included, took too long.
    case connectionTimeout = "connection_timeout"
    /// No content of the response arrived for too long.
    case connectionReadTimeout = "connection_read_timeout"
    /// The peer did not take the request for too long.
    case connectionWriteTimeout = "connection_write_timeout"
    /// All connections to the origin are busy, and the queue is full or the wait over.
    case connectionLimitReached = "connection_limit_reached"
    /// The TLS handshake failed.
    case tlsProtocolError = "tls_protocol_error"
    /// The certificate is not trusted, or has none of the pinned keys.
    case tlsCertificateError = "tls_certificate_error"
    /// The request cannot be sent as it is; the fault is the caller's.
    case httpRequestError = "http_request_error"
    /// The request may not be sent: another host, or a credential in the clear.
    case httpRequestDenied = "http_request_denied"
    /// The response was cut short.
    case httpResponseIncomplete = "http_response_incomplete"
    /// The content is longer than was asked for.
    case httpResponseBodySize = "http_response_body_size"
    /// The content cannot be decoded: it is malformed, or grows without measure; the detail names the
    /// coding.
    case httpResponseContentCoding = "http_response_content_coding"
    /// There was no response within the time that the call or the transport allows.
    case httpResponseTimeout = "http_response_timeout"
    /// The response breaks the rules of HTTP/1.1.
    case httpProtocolError = "http_protocol_error"
    /// Something in this process failed: a file, an option, foreign code (see `underlying`).
    case internalError = "proxy_internal_error"
    /// The request has come through this proxy before; the daemon's only.
    @_spi(Proxying) case proxyLoopDetected = "proxy_loop_detected"
    /// The token endpoint failed, and no usable token is left; trying later may help.
    case credentialUnavailable = "credential_unavailable"
    /// A user must sign in.
    case reauthorizationRequired = "reauthorization_required"
    /// No channel claims the request.
    @_spi(Proxying) case noChannel = "no_channel"
    /// The client has sent more requests than the channel takes.
    @_spi(Proxying) case rateLimited = "rate_limited"
    /// The head of a request took too long to arrive.
    @_spi(Proxying) case requestHeadTimeout = "request_head_timeout"
    /// The content of a request arrived too slowly.
    @_spi(Proxying) case requestBodyTimeout = "request_body_timeout"
    /// The endpoint does not accept the response; the error keeps it.
    case unacceptableResponse = "unacceptable_response"
    /// The content of the response is not the requested one.
    case undecodableResponse = "undecodable_response"
    /// The caller cancelled the call.
    case cancelled = "cancelled"
}
