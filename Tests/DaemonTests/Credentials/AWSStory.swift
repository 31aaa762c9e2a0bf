import FoundationEssentials
import TestSupport
import Testing

/// Channels that sign requests for AWS.
@Suite struct AWSStory {
    private static let keys = "access_key_id: KEY1, secret_access_key: 'literal:c4nary-secret'"

    private func channel(_ origin: OriginServer, _ aws: String, _ rest: String = "") -> String {
        """
        s3:
          upstream: http://127.0.0.1:\(origin.port)
          auth: { aws: { \(aws), region: eu-central-1, service: s3 }\(rest) }
        """
    }

    /// Returns the ID of the key that signed a request.
    private static func key(of request: RawMessage) -> String {
        let value = request["Authorization"] ?? ""
        return String(value.drop { $0 != "=" }.dropFirst().prefix { $0 != "/" })
    }

    private static let dummy = [
        "Authorization: AWS4-HMAC-SHA256 Credential=dummy/20200101/us-east-1/s3/aws4_request, "
            + "SignedHeaders=host, Signature=00",
        "X-Amz-Date: 20200101T000000Z", "X-Amz-Security-Token: dummy",
    ]

    @Test func `the client's signature is replaced, and the key is not logged`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin, Self.keys)) { proxy in
            let request = Raw.get("/s3/b/k+1?acl&prefix=a/b", Self.dummy[0], Self.dummy[1])
            #expect(try await proxy.exchange(request).status == 200)
            let arrived = origin.requests[0]
            #expect(arrived.startLine == "GET /b/k%2B1?acl&prefix=a%2Fb HTTP/1.1")
            #expect(Self.key(of: arrived) == "KEY1")
            #expect(arrived["X-Amz-Date"]?.hasPrefix("20200101") == false)
            let facts = try await proxy.log("s3")[0].facts
            #expect(facts.auth?.kind == "aws")
            #expect(facts.auth?.overrodeClient == true)
            #expect(try await !proxy.allLogs().contains("c4nary"))
        }
    }

    @Test func `a replaced key is read after a refusal`() async throws {
        let origin = try await OriginServer.start { request in
            guard Self.key(of: request) == "KEY2" else {
                return Raw.response(
                    "403 Forbidden",
                    body: "<Error><Code>InvalidAccessKeyId</Code></Error>"
                )
            }
            return Raw.ok(request.body)
        }
        let file = FileManager.default.temporaryDirectory
            .appending(path: "key-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("KEY1\n".utf8).write(to: URL(filePath: file))
        let keys = "access_key_id: 'file:\(file)', secret_access_key: 'literal:c4nary-secret'"
        try await DaemonHarness.run(channels: channel(origin, keys)) { proxy in
            try Data("KEY2\n".utf8).write(to: URL(filePath: file), options: .atomic)
            let answer = try await proxy.exchange(Raw.post("/s3/b/k", body: "precious"))
            #expect(answer.status == 200)
            #expect(answer.body == "precious")
            let facts = try await proxy.log("s3").map(\.facts)
            #expect(facts.map(\.retries) == [["unauthorized"]])
            #expect(facts.map { $0.auth?.generation } == [2])
        }
    }

    @Test func `a key file is read after each refusal`() async throws {
        let origin = try await OriginServer.start { request in
            Self.key(of: request) == "KEY2"
                ? Raw.ok() : Raw.response("400 No", fields: ["X-Amzn-ErrorType: ExpiredToken:x"])
        }
        let file = FileManager.default.temporaryDirectory
            .appending(path: "key-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("KEY1\n".utf8).write(to: URL(filePath: file))
        let keys = "access_key_id: 'file:\(file)', secret_access_key: 'literal:c4nary-secret'"
        try await DaemonHarness.run(channels: channel(origin, keys)) { proxy in
            for _ in 1...2 {
                let answer = try await proxy.exchange(Raw.get("/s3/b/k"))
                #expect(answer.status == 400)
            }
            try Data("KEY2\n".utf8).write(to: URL(filePath: file), options: .atomic)
            let answer = try await proxy.exchange(Raw.get("/s3/b/k"))
            #expect(answer.status == 200)
            let facts = try await proxy.log("s3").map(\.facts)
            let reasons = facts.map { $0.auth?.notReplayed }
            #expect(reasons == ["static_credential", "static_credential", nil])
            #expect(facts.map(\.retries) == [nil, nil, ["unauthorized"]])
            let told = proxy.reports.joined(separator: "\n")
            #expect(told.contains("using the new value from"))
            #expect(try await !(proxy.allLogs() + told).contains("c4nary"))
        }
    }

    @Test func `the secrets in the error of a credential_process are not reported`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let program = FileManager.default.temporaryDirectory
            .appending(path: "keys-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: program) }
        let lines = """
            #!/bin/sh
            echo 'bad file: aws_secret_access_key = c4nary-a, aws_session_token=c4nary-b' >&2
            exit 3
            """
        try Data(lines.utf8).write(to: URL(filePath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        try await DaemonHarness.run(channels: channel(origin, "exec: [\(program)]")) { proxy in
            let answer = try await proxy.exchange(Raw.get("/s3/b/k"))
            #expect(answer.status == 503)
            let told = proxy.reports.joined(separator: "\n")
            #expect(
                told.contains("said: bad file: aws_secret_access_key = <redacted>, aws_session")
            )
            #expect(!(told + answer.body).contains("c4nary"))
        }
    }

    @Test func `a missing container agent affects only its own channel`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels =
            channel(origin, "source: container")
            + "\nplain: { upstream: 'http://127.0.0.1:\(origin.port)' }"
        try await DaemonHarness.run(channels: channels) { proxy in
            let answer = try await proxy.exchange(Raw.get("/s3/b/k"))
            #expect(answer.status == 503)
            #expect(answer.body.contains("credential_unavailable"))
            #expect(answer.body.contains("auth.aws.source"))
            #expect(try await proxy.exchange(Raw.get("/plain/b")).status == 200)
            let told = proxy.reports.filter { $0.contains("channel s3: ") }
            #expect(told.contains { $0.contains("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") })
        }
    }

    @Test func `a role is assumed, and assumed again after its credentials have expired`()
        async throws
    {
        let origin = try await OriginServer.start { request in
            if request.startLine.hasPrefix("POST /sts") {
                let number = request.body.contains("DurationSeconds=900") ? 1 : 0
                #expect(number == 1)
                #expect(Self.key(of: request) == "KEY1")
                return Raw.ok(
                    """
                    <AssumeRoleResponse><AssumeRoleResult><Credentials>
                    <AccessKeyId>ROLE\(UInt32.random(in: 0 ... .max))</AccessKeyId>
                    <SecretAccessKey>c4nary-role</SecretAccessKey>
                    <SessionToken>c4nary-session</SessionToken>
                    <Expiration>2099-01-01T00:00:00Z</Expiration>
                    </Credentials></AssumeRoleResult></AssumeRoleResponse>
                    """
                )
            }
            #expect(Self.key(of: request).hasPrefix("ROLE"))
            #expect(request["X-Amz-Security-Token"] == "c4nary-session")
            guard request.startLine.contains("?refused"), request["X-Seen"] == nil else {
                return Raw.ok()
            }
            return Raw.response("400 Bad Request", body: #"{"__type":"ExpiredTokenException"}"#)
        }
        let role =
            "role: { arn: 'arn:aws:iam::1:role/r', duration: 15m, "
            + "url: 'http://127.0.0.1:\(origin.port)/sts' }"
        try await DaemonHarness.run(channels: channel(origin, "\(Self.keys), \(role)")) { proxy in
            #expect(try await proxy.exchange(Raw.get("/s3/b/k")).status == 200)
            #expect(try await proxy.exchange(Raw.get("/s3/b/k?refused")).status == 400)
            let keys = origin.requests.filter { !$0.startLine.contains("/sts") }.map(Self.key)
            #expect(keys.count == 3)
            #expect(Set(keys).count == 2)
            let facts = try await proxy.log("s3").map(\.facts)
            #expect(facts.last?.retries == ["unauthorized"])
            #expect(facts.last?.auth?.notReplayed == "already_replayed")
            #expect(try await !proxy.allLogs().contains("c4nary"))
        }
    }

    @Test(arguments: [
        ("X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "x", 400, "chunk signing off"),
        ("X-Ignored: 1", String(repeating: "x", count: 70_000), 413, "raise retry.replay_body"),
    ])
    func `content that cannot be signed is refused with advice`(
        field: String,
        body: String,
        status: Int,
        words: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(channels: channel(origin, Self.keys)) { proxy in
            let answer = try await proxy.exchange(Raw.post("/s3/b/k", body: body, field))
            #expect(answer.status == status)
            #expect(answer.body.contains(words))
            #expect(origin.requests.isEmpty)
        }
    }

    @Test(arguments: [
        ("reject", "/s3/b/k", dummy[0], 403, nil), ("keep", "/s3/b/k", dummy[0], 200, "dummy"),
        ("reject", "/s3/b/k?X-Amz-Signature=00", "X-Other: 1", 403, nil),
        ("keep", "/s3/b/k?X-Amz-Signature=00", "X-Other: 1", 200, ""),
        ("keep", "/s3/b/k", "X-Other: 1", 200, "KEY1"),
    ])
    func `a request signed by the client is kept or refused as configured`(
        policy: String,
        target: String,
        field: String,
        status: Int,
        key: String?
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channel = channel(origin, Self.keys, ", on_client_credential: \(policy)")
        try await DaemonHarness.run(channels: channel) { proxy in
            let answer = try await proxy.exchange(Raw.get(target, field))
            #expect(answer.status == status)
            #expect(origin.requests.first.map(Self.key) == key)
            if status == 403 {
                let place = target.contains("?") ? "signature in the query" : "Authorization field"
                #expect(answer.body.contains("brings its own \(place)"))
            }
        }
    }

    @Test func `a lent key is accepted as the ID of an AWS key`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let text = channel(origin, Self.keys) + "\n  access: { key: 'literal:dummy' }"
        try await DaemonHarness.run(channels: text) { proxy in
            let answer = try await proxy.exchange(Raw.get("/s3/b/k", Self.dummy[0]))
            #expect(answer.status == 200)
            let refusal = try await proxy.exchange(Raw.get("/s3/b/k"))
            #expect(refusal.status == 401)
            #expect(origin.requests.map(Self.key) == ["KEY1"])
        }
    }

    @Test func `channels that share credentials sign for their own services`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let channels = """
            s3: { upstream: 'http://127.0.0.1:\(origin.port)/s3', auth: { identity: work } }
            other: { upstream: 'http://127.0.0.1:\(origin.port)/b', auth: { identity: work } }
            """
        let identities =
            "identities: { work: { aws: { \(Self.keys), region: eu-central-1, service: s3 } } }"
        try await DaemonHarness.run(channels: channels, root: identities) { proxy in
            for target in ["/s3/a", "/other/a"] {
                let answer = try await proxy.exchange(Raw.get(target))
                #expect(answer.status == 200)
            }
            #expect(origin.requests.map(Self.key) == ["KEY1", "KEY1"])
            let facts = try await proxy.log("other").map(\.facts)
            #expect(facts.map { $0.auth?.kind } == ["aws"])
        }
    }
}
