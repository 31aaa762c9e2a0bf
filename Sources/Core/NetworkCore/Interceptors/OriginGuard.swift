/// Refuses requests to hosts other than the channel's, and credentials for other origins or without
/// encryption.
package struct OriginGuard: RequestInterceptor {
    /// The origin that may receive the credential.
    package enum Credential {
        /// The request carries no credential.
        case none
        /// The credential is for one origin; `http` is allowed only with `inClear` or to this machine.
        case only(Origin, inClear: Bool)
    }

    private let host: Authority?
    private let text: String?
    private let credential: Credential

    package init(host: String?, credential: Credential) {
        text = host
        // Add brackets, because an IPv6 address may be configured without them, as in `Origin.host`.
        self.host = host.flatMap { Authority($0) ?? Authority("[\($0)]") }
        self.credential = credential
    }

    /// Whether there is nothing to refuse, so that the chain omits the guard.
    package var isIdle: Bool {
        if case .none = credential { text == nil } else { false }
    }

    package func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        try check(request)
        return try await next.send(request, context: &context)
    }

    /// Checks the destination of a request.
    ///
    /// - Throws: `http_request_denied`.
    func check(_ request: borrowing Request) throws {
        let origin = request.origin
        if let text, !isAllowed(origin) {
            throw refusal(
                host == nil
                    ? "the channel's host '\(Redaction.standard.malformedURL(text))' is not valid: "
                        + "expected host or host:port, without a scheme or a path"
                    : "the channel is for \(text), the request for \(origin)"
            )
        }
        if case .only(let allowed, let inClear) = credential {
            guard origin == allowed else {
                throw refusal("the credential is for \(allowed), the request for \(origin)")
            }
            guard inClear || origin.scheme == .https || origin.isLoopback else {
                throw refusal("a credential does not go to \(origin) in the clear; use https")
            }
        }
    }

    private func isAllowed(_ origin: Origin) -> Bool {
        guard let host else { return false }
        return host.host == origin.host
            && (host.port ?? origin.scheme.defaultPort) == origin.port
    }

    private func refusal(_ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, retry: .safe, detail: detail)
    }
}
