import Testing

@testable import NetproxyCommands

/// The program with which `login` opens a page.
@Suite struct BrowserOpenerTests {
    private func command(_ environment: [String: String], programs: String...) -> [String]? {
        let environment = environment.merging(["PATH": "/usr/bin:/opt/bin"]) { own, _ in own }
        return BrowserOpener(environment: environment) { programs.contains($0) }?
            .command(for: "https://l.example/?a=b")
    }

    @Test(arguments: ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"])
    func `a desktop's program opens the page`(variable: String) {
        #expect(
            command([variable: ":0"], programs: "/opt/bin/xdg-open")
                == ["xdg-open", "https://l.example/?a=b"]
        )
        #expect(
            command([variable: ":0"], programs: "/usr/bin/gio")
                == ["gio", "open", "https://l.example/?a=b"]
        )
        #expect(command([variable: ":0"]) == nil)
        #expect(command([variable: ""], programs: "/usr/bin/xdg-open") == nil)
    }

    @Test func `without a desktop nothing is opened`() {
        #expect(command([:], programs: "/usr/bin/xdg-open") == nil)
    }

    @Test(
        arguments: [
            ("firefox", ["firefox", "https://l.example/?a=b"]),
            ("none:/opt/own --new %s", ["/opt/own", "--new", "https://l.example/?a=b"]),
            ("none", nil), ("", nil),
        ] as [(String, [String]?)]
    )
    func `BROWSER takes precedence and requires no desktop`(browser: String, expected: [String]?) {
        let found = command(
            ["BROWSER": browser],
            programs: "/usr/bin/firefox",
            "/opt/own",
            "/usr/bin/xdg-open"
        )
        #expect(found == expected)
    }
}
