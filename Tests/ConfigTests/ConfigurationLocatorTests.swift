import NetproxyConfig
import Testing

@Suite struct ConfigurationLocatorTests {
    @Test(arguments: [
        ("/a.yaml", ["NETPROXY_CONFIG": "/b.yaml"], "/a.yaml"),
        (nil, ["NETPROXY_CONFIG": "/b.yaml", "HOME": "/h"], "/b.yaml"),
        (nil, ["XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/x/netproxy/netproxy.yaml"),
        (nil, ["HOME": "/h"], "/h/.config/netproxy/netproxy.yaml"),
        (nil, [:], "/etc/netproxy/netproxy.yaml"),
    ])
    func `the first applicable location is used`(
        explicit: String?,
        environment: [String: String],
        expected: String
    ) {
        let path = ConfigurationLocator.path(
            explicit: explicit,
            environment: environment,
            exists: { _ in true }
        )
        #expect(path == expected)
    }

    @Test func `the system's file is used if there is no personal file`() {
        let path = ConfigurationLocator.path(
            explicit: nil,
            environment: homeOnly,
            exists: { _ in false }
        )
        #expect(path == "/etc/netproxy/netproxy.yaml")
        let demo = ConfigurationLocator.path(
            explicit: nil,
            environment: homeOnly,
            demo: { "/tmp/demo" }
        ) {
            _ in false
        }
        #expect(demo == "/tmp/demo")
    }

    @Test func `the personal file precedes a running demo, which precedes the system's file`() {
        func path(personal: Bool) -> String {
            ConfigurationLocator.path(
                explicit: nil,
                environment: homeOnly,
                demo: { "/tmp/demo" },
                exists: { personal || $0 == ConfigurationLocator.system }
            )
        }
        #expect(path(personal: true) == "/home/someone/.config/netproxy/netproxy.yaml")
        #expect(path(personal: false) == "/tmp/demo")
    }

    @Test func `systemd's directories take precedence, the first one in each list`() {
        let directories = DefaultDirectories(environment: [
            "STATE_DIRECTORY": "/var/lib/netproxy:/var/lib/other", "HOME": "/h",
            "LOGS_DIRECTORY": "/var/log/netproxy", "RUNTIME_DIRECTORY": "/run/netproxy",
            "XDG_RUNTIME_DIR": "/run/user/1",
        ])
        #expect(directories.state == "/var/lib/netproxy")
        #expect(directories.log == "/var/log/netproxy")
        #expect(directories.runtime == "/run/netproxy")
    }

    @Test func `a command finds the directories of the system service`() {
        func found(_ environment: [String: String], at path: String) -> DefaultDirectories {
            DefaultDirectories(
                environment: ConfigurationLocator.serviceEnvironment(
                    environment,
                    configuration: path
                ) { $0 != "/var/lib/netproxy" }
            )
        }
        let root = ["HOME": "/root", "XDG_RUNTIME_DIR": "/run/user/0"]
        let service = found(root, at: "/etc/netproxy/netproxy.yaml")
        #expect(service.log == "/var/log/netproxy")
        #expect(service.runtime == "/run/netproxy")
        // A missing directory of the unit is ignored.
        #expect(service.state == "/root/.local/state/netproxy")
        #expect(found(root, at: "/root/netproxy.yaml") == DefaultDirectories(environment: root))
        let explicit = ["HOME": "/root", "LOGS_DIRECTORY": "/srv/log"]
        #expect(found(explicit, at: "/etc/netproxy/netproxy.yaml").log == "/srv/log")
    }

    @Test func `the user's directories follow XDG`() throws {
        let configuration = try load("channels: { a: { upstream: https://a.example } }")
        #expect(configuration.state == "/home/someone/.local/state/netproxy")
        #expect(configuration.log.directory == "/home/someone/.local/state/netproxy/log")
        #expect(configuration.admin == [.unix("/home/someone/.local/state/netproxy/admin.sock")])
    }

    @Test func `directories without a default are required`() {
        let text = "channels: { a: { upstream: https://a.example } }\n"
        func lines(_ text: String) -> [String] {
            switch ConfigurationLoader.load(text: text, file: "n.yaml", environment: [:]) {
            case .success: []
            case .failure(let failure): failure.errors.map(\.description)
            }
        }
        let reason = "required, because neither systemd, XDG nor $HOME names a default"
        #expect(
            lines(text) == ["n.yaml:1:1: log.directory: \(reason)", "n.yaml:1:1: state: \(reason)"]
        )
        #expect(lines("state: /s\nlog: { directory: /l }\n\(text)").isEmpty)
        // One error for each key, not two.
        #expect(
            lines("state: s\nlog: { directory: l }\n\(text)") == [
                "n.yaml:1:8: state: expected an absolute path, found 's'",
                "n.yaml:2:19: log.directory: expected an absolute path, found 'l'",
            ]
        )
    }
}
