/// One of the answers that a channel's `stub` gives in place of the upstream.
package struct SampleAnswer: Sendable, Hashable {
    /// Upper case; empty means every method.
    package var methods: [String]
    /// A path below the upstream's, in which `*` stands for anything; nil means every path.
    package var path: String?
    /// How long the answer is in coming.
    package var delay: Duration
    /// 200 to 599.
    package var status: Int
    package var headers: [HeaderField]
    package var content: Content
    /// What goes wrong in place of the answer, or at its end.
    package var fault: Fault?

    /// Where the content comes from.
    package enum Content: Sendable, Hashable {
        case none
        case text(String)
        /// The absolute path of a file.
        case file(String)
    }

    /// What goes wrong, in the words of the log and of `Proxy-Status`.
    package enum Fault: String, Sendable, CaseIterable {
        case dnsError = "dns_error"
        case dnsTimeout = "dns_timeout"
        case connectionRefused = "connection_refused"
        case connectionTimeout = "connection_timeout"
        case connectionTerminated = "connection_terminated"
        case tlsCertificateError = "tls_certificate_error"
        case httpProtocolError = "http_protocol_error"
        case httpResponseTimeout = "http_response_timeout"
        /// The content breaks off at its end.
        case httpResponseIncomplete = "http_response_incomplete"
    }

    /// The largest file that is served: it is kept in memory.
    package static let fileLimit = ByteCount.mebibytes(16)
}
