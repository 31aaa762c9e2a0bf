/// The directories that apply where the configuration names none.
package struct DefaultDirectories: Sendable, Hashable {
    /// Nil when neither systemd, XDG nor `$HOME` says where.
    package let state: String?
    package let log: String?
    /// Where sockets go; nil when there is nothing better than the state directory.
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

    /// systemd.exec(5): with several directories, the variable lists them with colons.
    private static func first(_ list: String?) -> String? {
        absolute(list?.split(separator: ":").first.map(String.init))
    }

    /// The XDG specification asks to ignore relative paths.
    static func absolute(_ path: String?) -> String? {
        path.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
