/// Refuses what must not leave: a request to a host other than the channel's, and a credential to an
/// origin other than the endpoint's or in the clear.
package struct OriginGuard: RequestInterceptor {
    /// The origins that may get the credential.
    package enum Credential {
        /// The request carries no credential.
        case none
        /// To one origin; over `http` only if that is allowed, or to this machine.
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

    /// Whether there is nothing to refuse: such a guard is left out of the chain.
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

    /// Checks where a request goes.
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
