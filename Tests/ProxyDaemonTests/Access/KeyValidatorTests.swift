import EventIO
import Foundation
import ProxyConfig
import ProxyDaemon
import TestSupport
import Testing

/// What `netproxy check` reports about unusable keys and certificates.
@Suite struct KeyValidatorTests {
    private func problems(_ text: String) throws -> [String] {
        let loaded = ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"],
            resolver: SecretResolver(environment: [:]),
            judge: KeyValidator.validate
        )
        guard case .failure(let failure) = loaded else { return [] }
        return failure.errors.map(\.description)
    }

    @Test func `unusable keys are reported where they are named`() throws {
        let oauth = "token_url: https://l.example/t, client_id: a"
        let text = """
            state_key: literal:short
            channels:
              a:
                upstream: https://a.example
                auth: { oauth: { \(oauth), client_auth: private_key_jwt,
                  client_key: { key: "literal:no key", audience: x } } }
              b:
                upstream: https://b.example
                auth: { oauth: { grant: jwt_bearer,
                  assertion: { service_account: "literal:{}" } } }
            """
        let found = try problems(text)
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("n.yaml:1:12: state_key: literal:…: "))
        #expect(
            found[1] == "n.yaml:6:26: channels.a.auth.oauth.client_key.key: literal:…: "
                + "there is no private key in PEM in it"
        )
        #expect(
            found[2].hasPrefix("n.yaml:10:37: channels.b.auth.oauth.assertion.service_account: ")
        )
    }

    @Test func `unusable certificates are reported where they are named`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("netproxy-keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func file(_ name: String, _ kind: String) throws -> String {
            let path = directory.appendingPathComponent(name)
            let text = "-----BEGIN \(kind)-----\nAAAA\n-----END \(kind)-----\n"
            try Data(text.utf8).write(to: path)
            return path.path
        }
        let authority = try file("ca.pem", "CERTIFICATE")
        let certificate = try file("own.pem", "CERTIFICATE")
        let key = try file("own.key", "PRIVATE KEY")
        let found = try problems(
            """
            channels:
              a:
                upstream: https://a.example
                tls:
                  ca: \(authority)
                  client_certificate: \(certificate)
                  client_key: \(key)
            """
        )
        #expect(found.count == 2)
        #expect(
            found[0].hasPrefix(
                "n.yaml:5:11: channels.a.tls.ca: the CA file \(authority) cannot be used: "
            )
        )
        #expect(
            found[1].hasPrefix(
                "n.yaml:7:19: channels.a.tls.client_key: "
                    + "the certificate \(certificate) cannot be used: "
            )
        )
    }
}
