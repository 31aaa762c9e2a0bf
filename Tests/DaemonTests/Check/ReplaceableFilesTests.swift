import Foundation
import NetproxyCommands
import NetproxyConfig
import Testing

/// Errors for files and programs that other users can replace.
@Suite struct ReplaceableFilesTests {
    private func errors(_ modes: [String: Int]) throws -> [String] {
        let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "replaceable-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let text = """
            include: [\(directory)/conf.d/*.yaml]
            state: \(directory)
            channels:
              a: { upstream: https://a.example, auth: { exec: [\(directory)/helper] } }
              b: { upstream: https://b.example, auth: { bearer: "exec:\(directory)/bin/secret" } }
            """
        let files = [
            "netproxy.yaml": text, "helper": "", "bin/secret": "",
            "conf.d/c.yaml": "channels: { c: { upstream: https://c.example } }\n",
        ]
        for (name, content) in files {
            let url = URL(filePath: "\(directory)/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try content.write(to: url, atomically: false, encoding: .utf8)
        }
        for name in ["netproxy.yaml", "helper", "bin/secret", "bin", "conf.d/c.yaml", "conf.d"] {
            let mode = modes[name] ?? 0o755
            try FileManager.default.setAttributes(
                [.posixPermissions: mode],
                ofItemAtPath: "\(directory)/\(name)"
            )
        }
        let configuration = try ConfigurationLoader.load(
            text: text,
            file: "\(directory)/netproxy.yaml",
            environment: ["HOME": "/home/someone"]
        ).get()
        return ReplaceableFiles.errors(in: configuration)
            .map { "\($0)".replacing(directory, with: "") }
    }

    @Test func `files that only their owner may write cause no error`() throws {
        #expect(try errors([:]) == [])
    }

    @Test(arguments: [
        ("netproxy.yaml", 0o666, "/netproxy.yaml:1:1", "/netproxy.yaml"),
        ("conf.d/c.yaml", 0o646, "/conf.d/c.yaml:1:1", "/conf.d/c.yaml"),
        ("conf.d", 0o777, "/conf.d/c.yaml:1:1", "/conf.d"),
        ("helper", 0o777, "/netproxy.yaml:4:", "/helper"),
        ("bin/secret", 0o757, "/netproxy.yaml:5:", "/bin/secret"),
        ("bin", 0o777, "/netproxy.yaml:5:", "/bin"),
    ])
    func `each file and program that another user may replace is an error`(
        name: String,
        mode: Int,
        place: String,
        culprit: String
    ) throws {
        let errors = try errors([name: mode])
        #expect(errors.count == 1)
        #expect(errors.first?.hasPrefix(place) == true)
        #expect(
            errors.first?.contains(
                "every user (mode \(String(mode, radix: 8))) can write to \(culprit)"
            ) == true
        )
    }
}
