import NetproxyConfig
import NetproxyHTTPMessage
import NetproxySettings
import Testing

/// Tests of the location of tokens.
@Suite struct StateTests {
    private let channels = "channels: { orders: { upstream: https://api.example.com } }\n"

    @Test func `a shared store has members and a prefix`() throws {
        let text = """
            state_key: [file:/new, file:/old]
            state:
              etcd:
                endpoints: [https://10.0.0.1:2379, "https://etcd.example:2380/"]
                ca: /ca.pem
                client_certificate: /client.pem
                client_key: /client.key
                user: netproxy
                password: file:/password

            """
        let configuration = try load(text + channels)
        let etcd = try #require(configuration.etcd)
        #expect(
            etcd.endpoints.map(\.description) == [
                "https://10.0.0.1:2379", "https://etcd.example:2380",
            ]
        )
        #expect(etcd.prefix == "/netproxy/")
        #expect(etcd.tls.authorities == "/ca.pem")
        #expect(etcd.tls.clientCertificate?.certificate == "/client.pem")
        #expect(etcd.user == "netproxy")
        #expect(etcd.password?.description == "file:/password")
        #expect(configuration.stateKeys.count == 2)
        // Local files are in the default directory.
        #expect(configuration.state == "/home/someone/.local/state/netproxy")
        #expect(try load(channels).etcd == nil)
    }

    @Test(arguments: [
        ("/a/b/", true), ("/", false), ("/a", false), ("a/", false), ("/a//b/", false),
    ])
    func `a prefix is a path of complete parts`(prefix: String, isFit: Bool) throws {
        let text =
            "state_key: file:/k\nstate: { etcd: { endpoints: https://e.example, prefix: \(prefix) } }\n"
        #expect(errors(in: text + channels).isEmpty == isFit)
        if isFit { #expect(try load(text + channels).etcd?.prefix == prefix) }
    }

    @Test func `an identity may share tokens that each machine could request`() throws {
        func identity(_ keys: String) throws -> CredentialConfiguration? {
            try load(
                """
                identities:
                  work: { oauth: { token_url: https://a.example, client_id: a, client_secret: "file:/s" }\(keys) }
                channels: { orders: { upstream: https://api.example.com, auth: { identity: work } } }

                """
            ).identities.first?.credential
        }
        #expect(try identity("")?.isShared == false)
        #expect(try identity(", share: true")?.isShared == true)
    }
}
