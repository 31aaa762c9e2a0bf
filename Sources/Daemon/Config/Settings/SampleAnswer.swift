/// A response of a channel's `stub`, sent instead of contacting the upstream.
package struct SampleAnswer: Sendable, Hashable {
    /// The methods in upper case; empty means every method.
    package var methods: [String]
    /// A path below the upstream's, in which `*` matches anything; nil means every path.
    package var path: String?
    /// The delay before the response.
    package var delay: Duration
    /// The status code, 200 to 599.
    package var status: Int
    package var headers: [HeaderField]
    package var content: Content
    /// A simulated failure instead of the response, or at its end.
    package var fault: Fault?

    /// The source of the content.
    package enum Content: Sendable, Hashable {
        case none
        case text(String)
        /// The absolute path of a file.
        case file(String)
    }

    /// The simulated failures, by the error words of the log and of `Proxy-Status`.
    package enum Fault: String, Sendable, CaseIterable {
        case dnsError = "dns_error"
        case dnsTimeout = "dns_timeout"
        case connectionRefused = "connection_refused"
        case connectionTimeout = "connection_timeout"
        case connectionTerminated = "connection_terminated"
        case tlsCertificateError = "tls_certificate_error"
        case httpProtocolError = "http_protocol_error"
        case httpResponseTimeout = "http_response_timeout"
        /// The connection is closed before the end of the content.
        case httpResponseIncomplete = "http_response_incomplete"
    }

    /// The maximum size of a file, whose content is kept in memory.
    package static let fileLimit = ByteCount.mebibytes(16)
}
