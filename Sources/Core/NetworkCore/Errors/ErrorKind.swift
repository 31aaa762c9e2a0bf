/// The kind of an error, in the words of RFC 9209 §2.3 and some of our own.
///
/// The raw value is the word in the log, and in the daemon's `Proxy-Status` and problem details. The kinds
/// that
/// only a daemon can produce are SPI.
@nonexhaustive
public enum ErrorKind: String, Sendable, CaseIterable {
    /// The name resolution took too long.
    case dnsTimeout = "dns_timeout"
    /// The name does not resolve.
    case dnsError = "dns_error"
    /// There is no route to the address.
    case destinationUnavailable = "destination_unavailable"
    /// No process listens at the address.
    case connectionRefused = "connection_refused"
    /// The connection was closed before the response.
    case connectionTerminated = "connection_terminated"
    /// Connecting took too long, including the TLS handshake.
    case connectionTimeout = "connection_timeout"
    /// No content of the response arrived for too long.
    case connectionReadTimeout = "connection_read_timeout"
    /// The peer accepted no part of the request for too long.
    case connectionWriteTimeout = "connection_write_timeout"
    /// All connections to the origin are busy, and the queue is full or the wait has timed out.
    case connectionLimitReached = "connection_limit_reached"
    /// The TLS handshake failed.
    case tlsProtocolError = "tls_protocol_error"
    /// The certificate is not trusted, or the chain has none of the pinned keys.
    case tlsCertificateError = "tls_certificate_error"
    /// The request cannot be sent as it is, through the caller's fault.
    case httpRequestError = "http_request_error"
    /// The request must not be sent, because of another host or an unencrypted credential.
    case httpRequestDenied = "http_request_denied"
    /// The response was cut short.
    case httpResponseIncomplete = "http_response_incomplete"
    /// The content is longer than the requested limit.
    case httpResponseBodySize = "http_response_body_size"
    /// The content cannot be decoded, because it is malformed or expands too much; the detail names the
    /// coding.
    case httpResponseContentCoding = "http_response_content_coding"
    /// The response did not arrive within the time limit of the call or the transport.
    case httpResponseTimeout = "http_response_timeout"
    /// The response breaks the rules of HTTP/1.1.
    case httpProtocolError = "http_protocol_error"
    /// A part of this process failed, such as a file, an option or third-party code (see `underlying`).
    case internalError = "proxy_internal_error"
    /// The request has already passed through this proxy; daemon only.
    @_spi(Proxying) case proxyLoopDetected = "proxy_loop_detected"
    /// The token endpoint failed, and no usable token is left; a later attempt may succeed.
    case credentialUnavailable = "credential_unavailable"
    /// A user must sign in.
    case reauthorizationRequired = "reauthorization_required"
    /// No channel claims the request.
    @_spi(Proxying) case noChannel = "no_channel"
    /// The client exceeded the rate limit of the channel.
    @_spi(Proxying) case rateLimited = "rate_limited"
    /// The head of a request took too long to arrive.
    @_spi(Proxying) case requestHeadTimeout = "request_head_timeout"
    /// The content of a request arrived too slowly.
    @_spi(Proxying) case requestBodyTimeout = "request_body_timeout"
    /// The endpoint does not accept the response, which the error contains.
    case unacceptableResponse = "unacceptable_response"
    /// The content of the response is not of the requested type.
    case undecodableResponse = "undecodable_response"
    /// The caller canceled the call.
    case cancelled = "cancelled"
}
