import Foundation
import NetproxyCommands
import NetproxyConfig
import Testing

/// Warnings about secrets that every user of the machine can read.
@Suite struct PublicSecretTests {
    /// A directory with a secret and a configuration that refers to it.
    private struct Place: ~Copyable {
        let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "public-\(UInt64.random(in: 0 ... .max))").path()
        var secret: String { "\(directory)/secret" }
        var file: String { "\(directory)/netproxy.yaml" }

        init(secret mode: Int, directory directoryMode: Int = 0o755) throws {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: false
            )
            for path in [secret, file] {
                try "sesame".write(toFile: path, atomically: false, encoding: .utf8)
                try Self.set(path, mode)
            }
            try Self.set(directory, directoryMode)
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        private static func set(_ path: String, _ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        func warnings(_ authentication: String) throws -> [String] {
            let text = """
                channels:
                  a:
                    upstream: https://a.example
                    auth: { \(authentication.replacing("SECRET", with: secret)) }
                """
            let configuration = try ConfigurationLoader.load(
                text: text,
                file: file,
                environment: ["HOME": "/home/someone"]
            ).get()
            return PublicSecrets.warnings(in: configuration)
                .map { "\($0)".replacing(directory, with: "") }
        }
    }

    @Test(arguments: [
        ("bearer: 'file:SECRET'", "4:21: channels.a.auth.bearer", "/secret", "/secret"),
        (
            "basic: { username: me, password: 'file:SECRET' }",
            "4:46: channels.a.auth.basic.password", "/secret",
            "/secret"
        ),
        (
            "bearer: literal:sesame", "4:21: channels.a.auth.bearer",
            "this file, and the secret in it", "/netproxy.yaml"
        ),
    ])
    func `a secret that every user can read causes a warning`(
        authentication: String,
        place: String,
        what: String,
        file: String
    ) throws {
        #expect(
            try Place(secret: 0o644).warnings(authentication) == [
                "/netproxy.yaml:\(place): warning: every user of this machine can read \(what); "
                    + "fix: chmod o= \(file)"
            ]
        )
    }

    @Test(arguments: ["bearer: 'file:SECRET'", "bearer: literal:sesame"])
    func `a secret that other users cannot read or reach causes no warning`(authentication: String)
        throws
    {
        #expect(try Place(secret: 0o640).warnings(authentication).isEmpty)
        #expect(try Place(secret: 0o644, directory: 0o750).warnings(authentication).isEmpty)
    }

    @Test(arguments: [
        ([:], "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor"),
        (["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/c"], "names http://10.0.0.1"),
        (["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/1"], nil),
    ])
    func `a missing container agent in the environment causes a note`(
        environment: [String: String],
        words: String?
    ) throws {
        let text = """
            channels:
              a:
                upstream: https://s3.eu-west-1.amazonaws.com
                auth: { aws: { source: container } }
              b:
                upstream: https://s3.eu-west-1.amazonaws.com
                auth: { aws: { source: instance } }
            """
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "n.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        let notes = configuration.containerNotes(in: environment).map(\.description)
        #expect(notes.count == (words == nil ? 0 : 1))
        if let words {
            #expect(notes[0].hasPrefix("n.yaml:4:28: channels.a.auth.aws.source: note: container"))
            #expect(notes[0].contains(words))
        }
        #expect(try checked(text).isEmpty)
    }

    @Test(arguments: ["bearer: env:TOKEN", "bearer: 'cred:token'", "exec: [/bin/true]"])
    func `only files and literals are checked`(authentication: String) throws {
        #expect(try Place(secret: 0o644).warnings(authentication).isEmpty)
    }
}
