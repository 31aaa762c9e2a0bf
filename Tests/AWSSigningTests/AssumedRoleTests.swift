import NetproxyAWSSigning
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Roles assumed through the Security Token Service.
@Suite struct AssumedRoleTests {
    private static let role = "arn:aws:iam::123456789012:role/reader"

    private let clock = ManualClock(wall: Samples.noon)

    private func role(
        _ proof: AssumedRole.Proof,
        over upstream: Upstream,
        _ edit: (inout AssumedRole.Session) -> Void = { _ in }
    ) -> AssumedRole {
        var session = AssumedRole.Session(role: Self.role, name: "netproxy-orders")
        edit(&session)
        return AssumedRole(
            session,
            with: proof,
            at: "https://sts.eu-central-1.amazonaws.com/",
            in: "eu-central-1",
            over: upstream,
            clock: clock
        )
    }

    private func credentials(_ source: AssumedRole) async throws -> IssuedCredentials {
        try await source.credentials(.initial, until: clock.now + .seconds(10))
    }

    private static func answer(to action: String) -> Response {
        Response(
            status: 200,
            body: .bytes(
                ByteSlice(
                    """
                    <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
                      <\(action)Result><AssumedRoleUser><Arn>arn:x</Arn></AssumedRoleUser>
                        <Credentials>
                          <AccessKeyId>ASIAEXAMPLE</AccessKeyId>
                          <SecretAccessKey>secret-of-the-test</SecretAccessKey>
                          <SessionToken> a&amp;b== </SessionToken>
                          <Expiration>2026-11-27T13:00:00Z</Expiration>
                        </Credentials></\(action)Result>
                    </\(action)Response>
                    """
                )
            )
        )
    }

    private static func refusal(_ code: String, _ status: HTTPStatus) -> Response {
        let text =
            "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code>"
            + "<Message>not today</Message></Error></ErrorResponse>"
        return Response(status: status, body: .bytes(ByteSlice(text)))
    }

    private func base() throws -> AssumedRole.Proof {
        let credentials = try Samples.credentials()
        return .credentials(ProvidedCredentials { _ in IssuedCredentials(credentials) })
    }

    @Test func `other credentials sign the request for a role's`() async throws {
        let upstream = Upstream { _, _ in Self.answer(to: "AssumeRole") }
        let source = role(try base(), over: upstream) {
            $0.externalID = "tenant 7"
            $0.duration = .seconds(900)
        }
        let issued = try await credentials(source)
        #expect(issued.credentials.accessKeyID == "ASIAEXAMPLE")
        #expect(issued.credentials.sessionToken == Secret("a&b=="))
        #expect(issued.lifetime == .seconds(3600))
        let arrived = upstream.arrived[0]
        #expect(
            arrived.body
                == "Action=AssumeRole&Version=2011-06-15"
                + "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Freader"
                + "&RoleSessionName=netproxy-orders&DurationSeconds=900&ExternalId=tenant+7"
        )
        #expect(
            arrived.token?.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261127/eu-central-1/sts/aws4_request, "
            ) == true
        )
    }

    @Test func `a web identity is presented without a signature`() async throws {
        let upstream = Upstream { _, _ in Self.answer(to: "AssumeRoleWithWebIdentity") }
        let source = role(.webIdentity { Secret("header.claims.signature") }, over: upstream)
        #expect(try await credentials(source).credentials.accessKeyID == "ASIAEXAMPLE")
        let arrived = upstream.arrived[0]
        #expect(arrived.token == nil)
        #expect(arrived.body.hasPrefix("Action=AssumeRoleWithWebIdentity&"))
        #expect(arrived.body.hasSuffix("&WebIdentityToken=header.claims.signature"))
    }

    @Test(arguments: [
        ("AccessDenied", 403 as HTTPStatus, TokenFailure.Class.configuration),
        ("ExpiredToken", 403, .transient), ("Throttling", 400, .transient),
        ("InternalFailure", 500, .transient),
    ])
    func `a refusal says whether it will last`(
        code: String,
        status: HTTPStatus,
        kind: TokenFailure.Class
    ) async throws {
        let upstream = Upstream { _, _ in Self.refusal(code, status) }
        let source = role(try base(), over: upstream)
        let failure = await #expect(throws: TokenFailure.self) { try await credentials(source) }
        #expect(failure?.kind == kind)
        #expect(
            failure?.detail == "STS for \(Self.role) answered \(status.rawValue) \(code): not today"
        )
        #expect(upstream.arrived.count == 1)
    }

    @Test func `a request refused for its time is signed again by the service's clock`()
        async throws
    {
        let upstream = Upstream { _, count in
            guard count == 0 else { return Self.answer(to: "AssumeRole") }
            var response = Self.refusal("RequestTimeTooSkewed", 403)
            response.headers.append(.date, validated: "Fri, 27 Nov 2026 12:30:00 GMT")
            return response
        }
        let issued = try await credentials(role(try base(), over: upstream))
        #expect(issued.lifetime == .seconds(1800))
        #expect(
            upstream.arrived.map { $0.request.headers["X-Amz-Date"] } == [
                "20261127T120000Z", "20261127T123000Z",
            ]
        )
    }

    @Test(arguments: [
        "<AccessKeyId>a</AccessKeyId>", "", "<!DOCTYPE a>", "<AccessKeyId><b/></AccessKeyId>",
    ])
    func `a response without credentials is an error`(text: String) async throws {
        let upstream = Upstream { _, _ in Response(status: 200, body: .bytes(ByteSlice(text))) }
        let source = role(try base(), over: upstream)
        let failure = await #expect(throws: TokenFailure.self) { try await credentials(source) }
        #expect(failure?.detail.hasSuffix("no complete Credentials element") == true)
    }
}
