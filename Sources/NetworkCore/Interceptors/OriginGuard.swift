/// Refuses what must not leave: a request for another host than the channel's, and a credential for
/// another origin than the endpoint's or in the clear.
package struct OriginGuard: RequestInterceptor {
    /// Where the credential may go.
    package enum Credential {
        /// There is none.
        case none
        /// To one origin.
        case only(Origin, inClear: Bool)
    }

    private let host: Authority?
    private let text: String?
    private let credential: Credential

    package init(host: String?, credential: Credential) {
        text = host
        // Brackets, so that an IPv6 address can be named without, as `Origin.host` has it.
        self.host = host.flatMap { Authority($0) ?? Authority("[\($0)]") }
        self.credential = credential
    }

    /// Whether there is nothing to refuse: the chain leaves it out then.
    package var isIdle: Bool {
        if case .none = credential { text == nil } else { false }
    }

    package func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let origin = request.origin
        if let text, !isAllowed(origin) {
            throw refusal(
                host == nil
                    ? "the channel's host '\(Redaction.standard.malformedURL(text))' is none: "
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
        return try await next.send(request, context: &context)
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
