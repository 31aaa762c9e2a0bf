import Foundation
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyEventIO
import TestSupport
import Testing

/// Returns the errors of a text, its files and its secrets.
func checked(_ text: String) throws -> [ConfigurationError] {
    let loaded = ConfigurationLoader.load(
        text: text,
        file: "n.yaml",
        environment: ["HOME": "/home/someone"]
    )
    let resolver = SecretResolver(environment: [:])
    switch ConfigurationChecker(resolver: resolver).check(loaded) {
    case .success: return []
    case .failure(let failure): return failure.errors
    }
}

/// The errors that `netproxy check` reports for files and secrets that a start could not use.
@Suite struct ConfigurationCheckerTests {
    @Test func `an unusable key is reported at its position`() throws {
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
        let found = try checked(text).map(\.description)
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("n.yaml:1:12: state_key: literal:…: "))
        #expect(
            found[1] == "n.yaml:6:26: channels.a.auth.oauth.client_key.key: literal:…: "
                + "it contains no PEM private key"
        )
        #expect(
            found[2].hasPrefix("n.yaml:10:37: channels.b.auth.oauth.assertion.service_account: ")
        )
    }

    @Test func `a key for another algorithm is reported`() throws {
        let pem =
            "-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7r"
            + "AMcrn9g\\n-----END PRIVATE KEY-----"
        let text = """
            channels:
              a:
                upstream: https://a.example
                auth: { jwt: { key: 'literal:\(pem)', algorithm: ES256 } }
              b:
                upstream: https://b.example
                auth: { jwt: { key: 'literal:\(pem)', algorithm: EdDSA } }
            """
        let found = try checked(text).map(\.description)
        #expect(
            found == [
                "n.yaml:4:25: channels.a.auth.jwt.key: literal:…: the key signs with EdDSA, not "
                    + "ES256; change algorithm, or remove it"
            ]
        )
    }

    @Test func `an unusable certificate is reported at its position`() throws {
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
        let found = try checked(
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
        .map(\.description)
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

    @Test func `an unreadable secret is reported along with the errors of the text`() throws {
        let text = """
            bogus: 1
            channels: { a: { upstream: https://a.example, auth: { bearer: file:/nope } } }
            """
        #expect(try checked(text).map(\.key) == ["bogus", "channels.a.auth.bearer"])
    }

    @Test func `a file that cannot be read is reported`() throws {
        let found = try checked(
            """
            channels:
              a:
                upstream: https://a.example
                auth: { bearer: env:MISSING }
                tls: { ca: /does/not/exist.pem }
              b: { upstream: https://b.example, tls: { ca: /tmp } }
              c: { stub: [{ file: /nowhere/sample }] }
            """
        )
        #expect(
            found.map(\.description) == [
                "n.yaml:4:21: channels.a.auth.bearer: environment variable MISSING is not set",
                "n.yaml:5:16: channels.a.tls.ca: cannot read /does/not/exist.pem: "
                    + "there is no such file",
                "n.yaml:6:48: channels.b.tls.ca: cannot read /tmp: it is a directory",
                "n.yaml:7:23: channels.c.stub[0].file: cannot read /nowhere/sample: "
                    + "there is no such file",
            ]
        )
    }

    @Test(arguments: [0, 1])
    func `a sample file beyond the size limit is reported`(excess: Int) throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-sample-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(count: 16 * 1024 * 1024 + excess).write(to: URL(filePath: path))
        let found = try checked("channels: { a: { stub: [{ file: \(path) }] } }\n")
        let expected = "n.yaml:1:33: channels.a.stub[0].file: \(path) is larger than 16MiB"
        #expect(found.map(\.description) == (excess > 0 ? [expected] : []))
    }

    @Test(arguments: ["/does/not/exist", "/etc/passwd", "/tmp"])
    func `a helper that is not a program is reported`(path: String) throws {
        let text = "channels: { a: { upstream: https://a.example, auth: { exec: [\(path)] } } }"
        #expect(
            try checked(text).contains { $0.description.contains("is not an executable file") }
        )
    }

    @Test(arguments: [
        ("bearer: 'literal:a '", "auth.bearer"), ("bearer: 'literal: a'", nil),
        ("header: { name: X-Key, value: 'literal: a' }", "auth.header.value"),
        ("header: { name: X-Key, value: 'literal:a\u{20}' }", "auth.header.value"),
        ("basic: { username: a, password: 'literal: a ' }", nil),
    ])
    func `a secret that is not valid in a header field is reported`(
        line: String,
        key: String?
    ) throws {
        let found = try checked(
            "channels: { a: { upstream: https://a.example, auth: { \(line) } } }"
        )
        #expect(found.map(\.key) == (key.map { ["channels.a.\($0)"] } ?? []))
        #expect(found.allSatisfy { $0.message.contains("with a space or tab") })
    }

    @Test func `a missing journal is reported`() throws {
        var configuration = try ConfigurationLoader.load(
            text: """
                log: { output: journal }
                channels: { a: { upstream: https://a.example } }
                """,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        var mention = try #require(configuration.mentions.first { $0.key == "log.output" })
        #expect(mention.resource == .journal("/run/systemd/journal/socket"))
        mention.resource = .journal("/nowhere/socket")
        configuration.mentions = [mention]
        let checker = ConfigurationChecker(resolver: SecretResolver(environment: [:]))
        let errors = checker.problems(of: configuration)
        let expected =
            "log.output: nothing is listening at /nowhere/socket: is systemd-journald running?"
        #expect(errors.count == 1 && errors[0].description.contains(expected))
    }
}
