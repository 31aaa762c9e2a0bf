import NetproxyConfig
import NetproxyRequestLog
import NetworkCore
import TestSupport
import Testing

@testable import NetproxyPath

/// The one list of checks that decide whether a request may pass.
@Suite struct AdmissionTests {
    private static let key = "access: { key: 'file:/key' }"
    private static let discovery = "auth: { oauth: { discover: true } }"

    /// The checks of a channel with these keys, which uses a credential for these users, if for any.
    private func checks(_ lines: String = "", users: [UInt32]? = nil) throws -> [Admission.Check] {
        let text = "channels:\n  orders:\n    upstream: https://a.example\n    \(lines)\n"
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get().channels[0]
        let access = configuration.access
        var parts = ChannelRules.Parts(
            origin: configuration.upstreams[0].origin,
            access: AccessPolicy(
                origins: access.origins,
                users: access.users,
                key: access.key.map { _ in Secret("sesame") }
            ),
            log: ChannelLog(labels: LogLabels(channel: "orders"), directory: "/nowhere"),
            stack: InterceptorStack()
        )
        parts.limiter = configuration.rate.map { RateLimiter($0) }
        parts.clients = users.map { [AccountChoice.Clients(identity: nil, users: $0)] } ?? []
        return Admission.checks(of: ChannelRules(configuration, parts))
    }

    @Test func `every check has its place in the order`() throws {
        let access = "origins: [https://app.example], users: [1000], key: 'file:/key'"
        let lines = """
            access: { \(access), methods: [GET], paths: [/orders] }
                rate: { requests: 10, per: 1m }
                \(Self.discovery)
            """
        #expect(
            try checks(lines, users: [1000]) == [
                .host, .page, .preflight, .user, .key, .account, .method, .path, .hiddenMetadata,
                .rate, .secondTarget, .trace,
            ]
        )
    }

    @Test(
        arguments: [
            ("", []),
            ("access: { origins: [https://app.example] }", [.preflight]),
            ("access: { users: [1000] }", [.user]),
            (key, [.key]),
            ("access: { methods: [GET] }", [.method]),
            ("access: { paths: [/orders] }", [.path]),
            (discovery, [.hiddenMetadata]),
            ("rate: { requests: 10, per: 1m }", [.rate]),
        ] as [(String, [Admission.Check])]
    )
    func `a channel has only the checks that its configuration needs`(
        lines: String,
        added: [Admission.Check]
    ) throws {
        let found = try checks(lines)
        #expect(found.filter(added.contains) == added)
        #expect(found.filter { !added.contains($0) } == [.host, .page, .secondTarget])
    }

    @Test func `a channel with a credential refuses TRACE, and chooses it by user if it names one`()
        throws
    {
        #expect(try checks(users: []) == [.host, .page, .secondTarget, .trace])
        #expect(try checks(users: [1000]) == [.host, .page, .account, .secondTarget, .trace])
    }
}
