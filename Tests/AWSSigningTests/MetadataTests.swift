import NetproxyAWSSigning
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Credentials from the agents of containers, and from the metadata service of instances.
@Suite struct MetadataTests {
    private static let json = """
        {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret-of-the-test", "Token": "token",
         "Expiration": "2026-11-27T13:00:00Z"}
        """

    private let clock = ManualClock(wall: Samples.noon)

    private func credentials(_ source: some AWSCredentialSource) async throws -> IssuedCredentials {
        try await source.credentials(.initial, until: clock.now + .seconds(10))
    }

    @Test func `an instance's role is requested with a session of the service`() async throws {
        let upstream = Upstream { arrived, count in
            #expect(arrived.request.origin.description == "http://169.254.169.254")
            let fields = arrived.request.headers
            switch count {
            case 0:
                #expect(arrived.request.method == .put)
                #expect(arrived.request.target == "/latest/api/token")
                #expect(fields["X-aws-ec2-metadata-token-ttl-seconds"] == "21600")
                return Response(status: 200, body: .bytes(ByteSlice("session")))
            case 1:
                #expect(fields["X-aws-ec2-metadata-token"] == "session")
                return Response(status: 200, body: .bytes(ByteSlice("the-role\n")))
            default:
                #expect(arrived.request.target.hasSuffix("/iam/security-credentials/the-role"))
                #expect(fields["X-aws-ec2-metadata-token"] == "session")
                return Response(status: 200, body: .bytes(ByteSlice(Self.json)))
            }
        }
        let issued = try await credentials(InstanceCredentials(over: upstream, clock: clock))
        #expect(try issued.credentials == Samples.credentials(token: "token"))
        #expect(issued.lifetime == .seconds(3600))
        #expect(upstream.arrived.count == 3)
    }

    @Test func `a lifetime counts from the service's own time of day`() async throws {
        let upstream = Upstream { _, _ in
            var response = Response(status: 200, body: .bytes(ByteSlice(Self.json)))
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 12:30:00 GMT")
            return response
        }
        let source = try ContainerCredentials(
            environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"],
            over: upstream,
            clock: clock
        ) { nil }
        #expect(try await credentials(source).lifetime == .seconds(1800))
        #expect(upstream.arrived[0].request.target == "/v2/credentials/1")
        #expect(upstream.arrived[0].request.origin.description == "http://169.254.170.2")
    }

    @Test(arguments: [
        "http://169.254.170.23/v1/credentials", "http://localhost:8000/c",
        "https://agent.example/c",
    ])
    func `a request to an agent carries its authorization token`(url: String) async throws {
        let upstream = Upstream { arrived, _ in
            #expect(arrived.token == "agent-token")
            return Response(status: 200, body: .bytes(ByteSlice(Self.json)))
        }
        let source = try ContainerCredentials(
            environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": url],
            over: upstream,
            clock: clock
        ) { Secret("agent-token") }
        #expect(try await credentials(source).credentials.accessKeyID == "AKIDEXAMPLE")
    }

    @Test(arguments: [
        ([:], "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor"),
        (
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/c"],
            "neither https, nor loopback"
        ),
        (["AWS_CONTAINER_CREDENTIALS_FULL_URI": "nonsense"], "not an http or https URL"),
    ])
    func `no other address gets a request for credentials`(
        environment: [String: String],
        reason: String
    ) {
        let error = #expect(throws: ContainerCredentials.Unusable.self) {
            try ContainerCredentials(
                environment: environment,
                over: Upstream { _, _ in
                    Response(status: 200)
                }
            ) { nil }
        }
        #expect(error?.description.contains(reason) == true)
    }

    @Test func `a refusal names the service and its status`() async throws {
        let upstream = Upstream { _, _ in Response(status: 404) }
        let failure = await #expect(throws: TokenFailure.self) {
            try await credentials(InstanceCredentials(over: upstream, clock: clock))
        }
        #expect(
            failure?.detail
                == "the instance metadata service at http://169.254.169.254 answered 404"
        )
        #expect(failure?.kind == .transient)
    }
}
