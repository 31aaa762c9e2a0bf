package import NetworkCore
package import OAuth

/// The credentials of a container, from the agent that the platform runs beside it: the task role of ECS,
/// or the pod identity of EKS.
package struct ContainerCredentials: AWSCredentialSource {
    /// The reason why the environment names no usable agent.
    package struct Unusable: Error, CustomStringConvertible {
        /// The reason, as one clause.
        package let description: String
    }

    /// The addresses of the agents of ECS and EKS.
    private static let agents: Set<String> = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]

    private let endpoint: ServerEndpoint
    private let authorization: @Sendable () async throws -> Secret?
    private let exchange: MetadataExchange

    /// Finds the agent.
    ///
    /// - Parameters:
    ///   - environment: with the variables that the platform sets.
    ///   - transport: sends to the agent.
    ///   - clock: the machine's, except in tests.
    ///   - authorization: reads the value of `Authorization`, for each request; `nil` sends none.
    /// - Throws: `Unusable` if no variable names an agent, or an agent that must not be used.
    package init(
        environment: [String: String],
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock(),
        authorization: @escaping @Sendable () async throws -> Secret?
    ) throws(Unusable) {
        endpoint = try ContainerCredentials.endpoint(in: environment)
        self.authorization = authorization
        exchange = MetadataExchange(
            "the container's credential agent",
            over: transport,
            clock: clock
        )
    }

    /// Returns the URL of the agent.
    ///
    /// - Parameter environment: with the variables that the platform sets.
    /// - Returns: the agent's URL.
    /// - Throws: `Unusable` if no variable names an agent, or an agent that must not be used.
    package static func endpoint(
        in environment: [String: String]
    ) throws(Unusable) -> ServerEndpoint {
        let (relative, full) = (
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"
        )
        let url: String
        if let path = environment[relative], !path.isEmpty {
            url = "http://169.254.170.2" + (path.hasPrefix("/") ? path : "/\(path)")
        } else if let whole = environment[full], !whole.isEmpty {
            url = whole
        } else {
            throw Unusable(
                description:
                    "the environment has neither \(relative) nor \(full), which ECS and EKS "
                    + "set; netproxy does not run in such a container"
            )
        }
        guard let endpoint = ServerEndpoint(url) else {
            throw Unusable(description: "\(full) is not an http or https URL")
        }
        let origin = endpoint.origin
        guard
            origin.scheme == .https || origin.isLoopback
                || ContainerCredentials.agents.contains(origin.host)
        else {
            throw Unusable(
                description:
                    "\(full) names \(origin), which is neither https, nor loopback, nor an "
                    + "address of the agents of ECS and EKS"
            )
        }
        return endpoint
    }

    package func credentials(
        _ reason: OAuthEvent.Reason,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> IssuedCredentials {
        var request = Request(origin: endpoint.origin, target: endpoint.target)
        request.headers.append(.accept, validated: "application/json")
        let token: Secret?
        do {
            token = try await authorization()
        } catch {
            throw TokenFailure(.transient, detail: "\(error)")
        }
        if let token {
            guard let field = HTTPField(.authorization, token.reveal()) else {
                throw TokenFailure(
                    .configuration,
                    detail: "the authorization token of \(exchange.name) is unfit for a field"
                )
            }
            request.headers.append(field)
        }
        let content = try await exchange.content(of: request, until: deadline)
        return try CredentialDocument(content, of: .metadata, from: exchange.name)
            .issued(at: exchange.serverClock.now, by: exchange.name)
    }
}
