import FoundationEssentials
import NetproxyConfig
import Testing

/// A main file and its included files, in a separate directory.
private struct Directory: ~Copyable {
    let path: String

    init(_ files: [String: String]) throws {
        path = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-include-\(UInt64.random(in: 0 ... .max))").path()
        for (name, text) in files {
            let file = URL(filePath: path).appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func load() -> Result<ProxyConfiguration, ConfigurationErrors> {
        let main = "\(path)/netproxy.yaml"
        let bytes = FileManager.default.contents(atPath: main).map(Array.init) ?? []
        return ConfigurationLoader.load(bytes: bytes, file: main, environment: homeOnly)
    }

    /// The errors, with file names relative to this directory.
    var errors: [String] {
        switch load() {
        case .success: []
        case .failure(let failure):
            failure.errors.map { $0.description.replacing("\(path)/", with: "") }
        }
    }
}

@Suite struct InclusionTests {
    private let main = """
        include: [conf.d/*.yaml]
        defaults: { timeouts: { total: 5s } }
        channels: { orders: { upstream: https://orders.example } }

        """

    @Test func `included channels and defaults are like those of the main file`() throws {
        let directory = try Directory([
            "netproxy.yaml": main,
            "conf.d/b.yaml": "channels: { billing: { upstream: https://billing.example } }\n",
            "conf.d/a.yaml": """
            defaults: { timeouts: { idle: 7s } }
            channels: { mail: { upstream: https://mail.example } }

            """,
            "conf.d/empty.yaml": "# nothing yet\n", "conf.d/.hidden.yaml": "x: 1\n",
            "conf.d/notes.txt": "x: 1\n",
        ])
        let configuration = try directory.load().get()
        #expect(configuration.channels.map(\.name) == ["orders", "mail", "billing"])
        for channel in configuration.channels {
            #expect(channel.timeouts.total == .seconds(5) && channel.timeouts.idle == .seconds(7))
        }
        #expect(configuration.files.count == 4)
    }

    @Test func `the main file need not have a channel`() throws {
        let directory = try Directory([
            "netproxy.yaml": "include: teams.yaml\n",
            "teams.yaml": "channels: { mail: { upstream: https://mail.example } }\n",
        ])
        #expect(try directory.load().get().channels.map(\.name) == ["mail"])
    }

    @Test func `an error names the included file`() throws {
        let directory = try Directory([
            "netproxy.yaml": main,
            "conf.d/a.yaml": """
            channels:
              mail: { upstream: https://mail.example, timeouts: { total: soon } }

            """,
            "conf.d/b.yaml": "channels:\n\tbilling: {}\n",
        ])
        #expect(
            directory.errors == [
                "conf.d/a.yaml:2:62: channels.mail.timeouts.total: "
                    + "expected a duration such as 5s, found 'soon'",
                "conf.d/b.yaml:2:1: a tab; YAML is indented with spaces",
            ]
        )
    }

    @Test func `a key in two files is an error that names both positions`() throws {
        let directory = try Directory([
            "netproxy.yaml": main,
            "conf.d/a.yaml": """
            defaults: { timeouts: { total: 6s } }
            channels:
              orders: { upstream: https://other.example }

            """,
        ])
        #expect(
            directory.errors.map { $0.replacing("\(directory.path)/", with: "") } == [
                "conf.d/a.yaml:1:25: defaults.timeouts.total: already in netproxy.yaml:2:25",
                "conf.d/a.yaml:3:3: channels.orders: already in netproxy.yaml:3:13",
            ]
        )
    }

    @Test func `an included file may only have channels, identities and defaults`() throws {
        let directory = try Directory([
            "netproxy.yaml": main,
            "conf.d/a.yaml": "listen: [127.0.0.1:1]\ninclude: [x.yaml]\nchanels: {}\n",
            "conf.d/b.yaml": "identities: { a: { bearer: env:A } }\n",
            "conf.d/c.yaml": "- orders\n",
        ])
        let only = "an included file has channels, identities and defaults"
        #expect(
            directory.errors == [
                "conf.d/a.yaml:1:1: listen: only the main file may have listen; \(only)",
                "conf.d/a.yaml:2:1: include: only the main file may have include; \(only)",
                "conf.d/a.yaml:3:1: chanels: unknown key, did you mean 'channels'?",
                "conf.d/b.yaml:1:15: identities.a: no channel uses this identity; "
                    + "add auth: { identity: a } to one, or remove it",
                "conf.d/c.yaml:1:1: expected a map, such as { channels: … }, found a list",
            ]
        )
    }

    @Test func `a missing file is an error, but a pattern without a match is not`() throws {
        let directory = try Directory([
            "netproxy.yaml": main.replacing("conf.d/*.yaml]", with: "conf.d/*.yaml, missing.yaml]")
        ])
        #expect(directory.errors == ["missing.yaml:1:1: cannot read the file"])
    }

    @Test func `only the last part of a path may contain a star, and a list is no pattern`() throws
    {
        let directory = try Directory([
            "netproxy.yaml": main.replacing("[conf.d/*.yaml]", with: "['*/a.yaml', [b]]")
        ])
        #expect(
            directory.errors == [
                "netproxy.yaml:1:11: include[0]: only the last part of a path may contain *",
                "netproxy.yaml:1:23: include[1]: "
                    + "expected a path or a pattern such as conf.d/*.yaml, found a list",
            ]
        )
    }

    @Test func `an unreadable included file concerns channels, not the admin address`()
        throws
    {
        let directory = try Directory([
            "netproxy.yaml": "admin: unix:/run/here.sock\n" + main, "conf.d/a.yaml": "a: [",
        ])
        guard case .failure(let failure) = directory.load() else {
            Issue.record("accepted")
            return
        }
        #expect(failure.admin == [.unix("/run/here.sock")])
        #expect(failure.concerns(["channels.mail"]) && !failure.concerns(["log"]))
    }
}
