package import NetworkCore
package import OAuth

/// The credentials of the role of an EC2 instance, from its metadata service in version 2.
package struct InstanceCredentials: AWSCredentialSource {
    /// The metadata service, with the same address on every instance.
    package static let standardEndpoint: ServerEndpoint = "http://169.254.169.254"

    private static let roles = "/latest/meta-data/iam/security-credentials/"
    /// The maximum wait for a response: outside an instance none arrives.
    private static let patience = Duration.seconds(2)

    private let endpoint: ServerEndpoint
    private let exchange: MetadataExchange

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - endpoint: where the metadata service is.
    ///   - transport: sends to it.
    ///   - clock: the machine's, except in tests.
    package init(
        at endpoint: ServerEndpoint = InstanceCredentials.standardEndpoint,
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock()
    ) {
        self.endpoint = endpoint
        exchange = MetadataExchange("the instance metadata service", over: transport, clock: clock)
    }

    package func credentials(
        _ reason: OAuthEvent.Reason,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> IssuedCredentials {
        var request = request(.put, "/latest/api/token")
        // Six hours, the longest; the session serves this renewal only.
        request.headers.append("X-aws-ec2-metadata-token-ttl-seconds", validated: "21600")
        let session = try await text(of: request, until: deadline)
        let role = try await text(of: self.request(.get, Self.roles, session), until: deadline)
        let target = Self.roles + PercentEncoding.unreserved(role)
        let content = try await content(of: self.request(.get, target, session), until: deadline)
        return try CredentialDocument(content, of: .metadata, from: exchange.name)
            .issued(at: exchange.serverClock.now, by: exchange.name)
    }

    private func request(_ method: HTTPMethod, _ path: String, _ session: String? = nil) -> Request
    {
        let base =
            endpoint.target.hasSuffix("/") ? endpoint.target.dropLast() : endpoint.target[...]
        var request = Request(method: method, origin: endpoint.origin, target: base + path)
        if let session {
            request.headers.append("X-aws-ec2-metadata-token", validated: session)
        }
        return request
    }

    private func content(
        of request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> [UInt8] {
        let soon = exchange.clock.now + Self.patience
        return try await exchange.content(of: request, until: min(deadline, soon))
    }

    /// The first line of a response, to put into a field or a path.
    private func text(
        of request: Request,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> String {
        let content = try await content(of: request, until: deadline)
        let line = content.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TokenFailure(
                .transient,
                detail: "\(exchange.name) answered \(request.target) with no name or token: "
                    + "does the instance have a role?"
            )
        }
        return String(decoding: line, as: UTF8.self)
    }
}
