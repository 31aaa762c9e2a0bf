/// The directories used if the configuration does not name them.
package struct DefaultDirectories: Sendable, Hashable {
    /// The state directory; nil if neither systemd, XDG nor `$HOME` determines it.
    package let state: String?
    package let log: String?
    /// The directory for sockets; nil means the state directory.
    package let runtime: String?

    package init(environment: [String: String]) {
        let home = Self.absolute(environment["HOME"])
        let base = Self.absolute(environment["XDG_STATE_HOME"]) ?? home.map { "\($0)/.local/state" }
        let own = base.map { "\($0)/netproxy" }
        state = Self.first(environment["STATE_DIRECTORY"]) ?? own
        log = Self.first(environment["LOGS_DIRECTORY"]) ?? own.map { "\($0)/log" }
        runtime =
            Self.first(environment["RUNTIME_DIRECTORY"])
            ?? Self.absolute(environment["XDG_RUNTIME_DIR"]).map { "\($0)/netproxy" }
    }

    /// Returns the first of several directories, which systemd separates with colons (systemd.exec(5)).
    private static func first(_ list: String?) -> String? {
        absolute(list?.split(separator: ":").first.map(String.init))
    }

    /// Returns the path, unless it is relative: the XDG specification requires ignoring relative paths.
    package static func absolute(_ path: String?) -> String? {
        path.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
