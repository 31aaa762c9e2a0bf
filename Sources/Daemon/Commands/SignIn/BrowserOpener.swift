import NetproxySystem

/// Opens pages in the user's browser.
package struct BrowserOpener: Sendable {
    /// Programs that open a page in the browser of the desktop.
    private static let openers = [["xdg-open"], ["gio", "open"], ["wslview"], ["x-www-browser"]]

    /// The program and its arguments; `%s` stands for the page, which is otherwise the last argument.
    private let words: [String]
    private let environment: [String: String]

    /// Finds a program that opens pages, or returns `nil` on a machine without a browser.
    ///
    /// `$BROWSER` takes precedence: programs separated by colons, as other tools read it. Without it, a
    /// desktop session is required.
    ///
    /// - Parameters:
    ///   - environment: the user's environment.
    ///   - isProgram: whether a path is that of an executable file.
    package init?(
        environment: [String: String],
        isProgram: (String) -> Bool = { FileStatus.isProgram($0) }
    ) {
        func isFound(_ name: String) -> Bool {
            guard !name.contains("/") else { return isProgram(name) }
            return (environment["PATH"] ?? "").split(separator: ":")
                .contains { isProgram("\($0)/\(name)") }
        }
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        let chosen = (environment["BROWSER"] ?? "").split(separator: ":")
            .map { $0.split(separator: " ").map(String.init) }
        let isDesktop = has("DISPLAY") || has("WAYLAND_DISPLAY") || has("WSL_DISTRO_NAME")
        let candidates = chosen + (isDesktop ? BrowserOpener.openers : [])
        guard let words = candidates.first(where: { $0.first.map(isFound) == true }) else {
            return nil
        }
        self.words = words
        self.environment = environment
    }

    /// Returns the program that opens a page, with its arguments.
    func command(for page: String) -> [String] {
        words.contains { $0.contains("%s") }
            ? words.map { $0.replacing("%s", with: page) } : words + [page]
    }

    /// Starts the program.
    ///
    /// - Returns: whether the program started, which does not mean that it shows the page.
    func open(_ page: String) -> Bool {
        BackgroundProgram.start(command(for: page), environment: environment)
    }
}
