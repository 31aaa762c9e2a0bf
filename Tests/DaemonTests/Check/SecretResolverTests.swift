import Foundation
import NetproxyChannels
import NetproxyConfig
import Testing

/// Secrets from files, variables, credentials and programs.
@Suite struct SecretResolverTests {
    private let resolver = SecretResolver(
        environment: ["TOKEN": "from-env", "CREDENTIALS_DIRECTORY": "/creds"],
        readFile: { path throws(SecretError) in
            guard let text = Self.files[path] else { throw SecretError("cannot read \(path)") }
            return Array(text.utf8)
        }
    )

    private static let files = [
        "/plain": "s3cret", "/newline": "s3cret\n", "/windows": "s3cret\r\n", "/two": "s3cret\n\n",
        "/nul": "s3\0cret", "/del": "s3\u{7f}cret", "/empty": "\n", "/creds/db": "from-cred\n",
        "/utf8": "pä55",
    ]

    @Test(arguments: [
        ("file:/plain", "s3cret"), ("file:/newline", "s3cret"), ("file:/windows", "s3cret"),
        ("file:/utf8", "pä55"), ("env:TOKEN", "from-env"), ("cred:db", "from-cred"),
        ("literal:a:b", "a:b"), ("exec:/bin/echo hello", "hello"),
    ])
    func `a secret is read without its newline`(text: String, expected: String) async throws {
        let reference = try #require(SecretReference(text: text))
        #expect(try await resolver.resolve(reference) == Array(expected.utf8))
    }

    @Test(arguments: [
        "file:/two", "file:/nul", "file:/del", "file:/empty", "file:/missing", "env:MISSING",
        "cred:missing",
        "exec:/bin/false", "exec:/bin/true", "exec:/does/not/exist", "exec:/usr/bin/yes",
    ])
    func `a secret that is not valid in a header field is refused`(text: String) async throws {
        let reference = try #require(SecretReference(text: text))
        await #expect(throws: SecretError.self) { try await resolver.resolve(reference) }
    }

    @Test(arguments: [
        ([0x61, 0xE9], "file:/odd is not valid UTF-8"),
        ([0xEF, 0xBB, 0xBF, 0x61], "file:/odd begins with a byte order mark; save it without one"),
    ])
    func `a secret that would be sent with different bytes is refused`(
        bytes: [UInt8],
        expected: String
    ) async throws {
        let resolver = SecretResolver(environment: [:]) { _ throws(SecretError) in bytes }
        let error = await #expect(throws: SecretError.self) {
            try await resolver.resolve(.file("/odd"))
        }
        #expect(error?.description == expected)
    }

    @Test func `a file that is too large for a secret is refused`() async throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "secret-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let resolver = SecretResolver(environment: [:])
        for (size, isRead) in [(65_536, true), (65_537, false)] {
            let text = String(repeating: "x", count: size)
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            let secret = try? await resolver.resolve(.file(path))
            #expect((secret?.count == size) == isRead)
        }
    }

    @Test func `a secret of several lines is returned unchanged`() async throws {
        let pem = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"
        let resolver = SecretResolver(
            environment: [:],
            readFile: { path throws(SecretError) in
                path == "/k.pem" ? Array(pem.utf8) : [0x61, 0x00]
            }
        )
        #expect(try await resolver.resolve(.file("/k.pem"), as: .document) == Array(pem.utf8))
        await #expect(throws: SecretError.self) { try await resolver.resolve(.file("/k.pem")) }
        await #expect(throws: SecretError.self) {
            try await resolver.resolve(.file("/nul"), as: .document)
        }
    }

    @Test func `a command finds the credentials of the system service`() async throws {
        let environment = ConfigurationLocator.serviceEnvironment(
            ["HOME": "/home/someone"],
            configuration: "/etc/netproxy/netproxy.yaml"
        ) { _ in true }
        let resolver = SecretResolver(environment: environment) { path throws(SecretError) in
            Array(path.utf8)
        }
        #expect(
            try await resolver.resolve(.credential("orders"))
                == Array("/run/credentials/netproxy.service/orders".utf8)
        )
    }
}
