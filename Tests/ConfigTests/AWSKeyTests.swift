import NetproxyConfig
import NetproxyHTTPMessage
import Testing

/// Tests of the keys of `auth.aws`.
@Suite struct AWSKeyTests {
    private static let keys = "access_key_id: AKIDEXAMPLE, secret_access_key: 'file:/k'"
    private static let here = "region: us-east-1, service: s3"

    private func settings(_ aws: String, rest: String = "") throws -> AWSSettings {
        let channel = try channel("auth: { aws: { \(aws) } }\n\(rest)")
        guard let settings = channel.authentication.settings(AWSSettings.self) else {
            Issue.record("there is no auth.aws")
            throw CancellationError()
        }
        #expect(channel.placement == .header(name: "Authorization", prefix: nil))
        return settings
    }

    @Test func `access keys may be secret references, and the key ID plain text`() throws {
        let settings = try settings("\(Self.keys), session_token: 'env:T', \(Self.here)")
        guard case .keys(let keys) = settings.source else {
            Issue.record("there are no keys")
            return
        }
        #expect(keys.accessKeyID == .text("AKIDEXAMPLE"))
        #expect(keys.secretAccessKey == .file("/k"))
        #expect(settings.secretReferences == [.file("/k"), .environment("T")])
        let other = try self.settings(
            "access_key_id: 'file:/id', secret_access_key: 'file:/k', \(Self.here)"
        )
        #expect(other.secretReferences == [.file("/id"), .file("/k")])
    }

    @Test(arguments: [
        ("exec: [/bin/keys, --json]", AWSSettings.Source.exec(["/bin/keys", "--json"])),
        ("source: container", .container), ("source: instance", .instance),
    ])
    func `credentials may come from other sources`(key: String, source: AWSSettings.Source) throws {
        #expect(try settings("\(key), \(Self.here)").source == source)
    }

    @Test func `a role may be assumed with credentials`() throws {
        let role = "arn: 'arn:aws:iam::123456789012:role/reader', session_name: orders"
        let settings = try settings(
            "\(Self.keys), \(Self.here), role: { \(role), external_id: x, duration: 15m }"
        )
        #expect(settings.role?.arn == "arn:aws:iam::123456789012:role/reader")
        #expect(settings.role?.sessionName == "orders")
        #expect(settings.role?.externalID == "x")
        #expect(settings.role?.duration == .seconds(900))
        let service = try #require(settings.role).tokenService(in: "eu-central-1")
        #expect(service.url.origin.description == "https://sts.eu-central-1.amazonaws.com")
        #expect(service.region == "eu-central-1")
    }

    @Test(arguments: [
        ("", "eu-west-1"), (", region: eu-central-1", nil), ("none", nil),
        (", url: 'https://sts.us-west-2.amazonaws.com'", nil),
    ])
    func `a role is assumed in the region of the upstream by default`(
        more: String,
        region: String?
    ) throws {
        let upstream = Origin(scheme: .https, host: "s3.eu-west-1.amazonaws.com")
        let isRegion = more.contains("region")
        let role = ", role: { arn: 'arn:aws:iam::1:role/r'\(isRegion ? "" : more) }"
        var settings = try settings("\(Self.keys), \(Self.here)\(more == "none" ? "" : role)")
        settings.region = isRegion ? "eu-central-1" : nil
        #expect(settings.tokenRegion(for: upstream) == region)
    }

    @Test func `a web identity assumes a role without other credentials`() throws {
        let role = "arn: 'arn:aws:iam::1:role/r', web_identity_token: 'file:/t'"
        let settings = try settings(
            "role: { \(role), url: 'https://sts.us-west-2.amazonaws.com' }, \(Self.here)"
        )
        #expect(settings.source == nil)
        #expect(settings.role?.webIdentityToken == .file("/t"))
        #expect(settings.role?.tokenService(in: "us-east-1").region == "us-west-2")
        #expect(settings.secretReferences == [])
    }

    @Test(arguments: [
        (here, "auth.aws.access_key_id: access_key_id and secret_access_key, exec or source is"),
        ("\(keys), exec: [/bin/x], \(here)", "auth.aws.exec: credentials have one source, found"),
        ("\(keys), source: container, \(here)", "auth.aws.source: credentials have one source"),
        ("access_key_id: A, \(here)", "auth.aws.secret_access_key: required with access_key_id"),
        ("source: instance, session_token: 'env:T', \(here)", "session_token: needs access_key_id"),
        (
            "access_key_id: 'a b', secret_access_key: 'env:K', \(here)",
            "expected a key id of letters"
        ),
        (
            "access_key_id: A, secret_access_key: bare, \(here)",
            "secret_access_key: a secret is written"
        ),
        ("exec: [keys], \(here)", "auth.aws.exec: expected a list that begins with the absolute"),
        ("source: pod, \(here)", "auth.aws.source: expected container or instance, found 'pod'"),
        (
            "\(keys), role: { arn: reader }, \(here)",
            "auth.aws.role.arn: expected the ARN of a role"
        ),
        ("\(keys), role: { duration: 15m }, \(here)", "auth.aws.role.arn: required"),
        (
            "\(keys), role: { arn: 'arn:aws:iam::1:role/r', duration: 1m }, \(here)",
            "auth.aws.role.duration: expected a duration from 15m to 12h"
        ),
        (
            "\(keys), role: { arn: 'arn:aws:iam::1:role/r', web_identity_token: 'env:T' }, \(here)",
            "auth.aws.access_key_id: a web identity takes the role without other credentials"
        ),
        (
            "\(keys), role: { arn: 'arn:aws:iam::1:role/r', url: 'http://sts.example' }, \(here)",
            "auth.aws.role.url: would send credentials over http://"
        ),
        ("\(keys), service: s3", "auth.aws.region: required: the host a.example names no region"),
        ("\(keys), region: r", "auth.aws.service: required: the host a.example names no service"),
        ("\(keys), region: 'a b', service: s3", "auth.aws.region: expected a region such as"),
    ])
    func `the error of an invalid aws key names it`(aws: String, expected: String) {
        let lines = errors(inChannel: "auth: { aws: { \(aws) } }")
        #expect(lines.count == 1)
        #expect(lines.first?.contains(expected) == true, "\(lines)")
    }

    @Test(arguments: [
        ("host: app", "channels.a.host: auth.aws signs the Host"),
        (
            "upstream: ['https://a.example', 'https://b.example']",
            "channels.a.upstream: a signature names the host"
        ),
        (
            "retry: { unauthorized: { status: [409] } }",
            "unauthorized.status: auth.aws knows the refusals"
        ),
    ])
    func `the other keys of a channel must allow a signature`(key: String, expected: String) {
        let upstream = key.hasPrefix("upstream") ? "" : "upstream: https://a.example, "
        let auth = "auth: { aws: { \(Self.keys), \(Self.here) } }"
        let lines = errors(in: "channels: { a: { \(upstream)\(key), \(auth) } }")
        #expect(lines.count == 1)
        #expect(lines.first?.contains(expected) == true, "\(lines)")
    }

    @Test(arguments: ["in: query", "name: X-Key", "prefix: 'x '"])
    func `a signature cannot be placed elsewhere`(key: String) {
        let lines = errors(inChannel: "auth: { \(key), aws: { \(Self.keys), \(Self.here) } }")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("does not go with aws") == true)
    }

    @Test func `region and service default to those of the upstream's host`() throws {
        let text = """
            channels:
              a:
                upstream: https://bucket.s3.eu-central-1.amazonaws.com
                auth: { aws: { \(Self.keys) } }
            """
        let channel = try load(text).channels[0]
        guard let settings = channel.authentication.settings(AWSSettings.self) else { return }
        let scope = settings.scope(for: channel.upstreams[0].origin)
        #expect(scope.region == "eu-central-1")
        #expect(scope.service == "s3")
    }
}

/// Tests of AWS credentials that channels share.
@Suite struct AWSIdentityTests {
    private func text(_ upstream: String) -> String {
        """
        identities:
          work: { aws: { access_key_id: AKIDEXAMPLE, secret_access_key: 'file:/k' } }
        channels:
          a: { upstream: 'https://\(upstream)', auth: { identity: work } }
          b: { upstream: 'https://sqs.us-east-1.amazonaws.com', auth: { identity: work } }
        """
    }

    @Test func `each channel has its own region and service`() throws {
        let channels = try load(text("s3.eu-central-1.amazonaws.com")).channels
        let scopes = channels.compactMap { channel in
            channel.authentication.settings(AWSSettings.self)?
                .scope(for: channel.upstreams.first?.origin)
        }
        #expect(scopes.map(\.region) == ["eu-central-1", "us-east-1"])
        #expect(scopes.map(\.service) == ["s3", "sqs"])
        #expect(channels[0].credentials == channels[1].credentials)
    }

    @Test func `a host without region and service requires the identity's keys`() {
        let lines = errors(in: text("minio.example"))
        #expect(lines.count == 2)
        #expect(
            lines.first?.contains(
                "channels.a.auth: identities.work.aws.region is required: the host minio.example"
            ) == true,
            "\(lines)"
        )
    }
}
