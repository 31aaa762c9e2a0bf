import NetproxyBytes

/// All errors of a configuration, in the order of the file; never empty.
package struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package let errors: [ConfigurationError]
    /// The configuration without its invalid values; nil if the file is not a YAML map.
    package let draft: ProxyConfiguration?

    /// Sorts the errors by position and drops duplicates.
    package init(
        _ errors: some Sequence<ConfigurationError>,
        draft: ProxyConfiguration? = nil
    ) {
        self.errors = Set(errors).sorted {
            ($0.position, $0.key, $0.message) < ($1.position, $1.key, $1.message)
        }
        self.draft = draft
    }

    /// Returns the error for a file that is not UTF-8, at its first invalid byte.
    static func invalidUTF8(_ bytes: [UInt8], file: String) -> ConfigurationErrors {
        // Decoding puts U+FFFD at the first invalid byte and changes nothing before it.
        let repaired = String(decoding: bytes, as: UTF8.self)
        var (line, column, offset) = (1, 1, 0)
        for scalar in repaired.unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            guard bytes[offset...].starts(with: encoded) else { break }
            offset += encoded.count
            (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
        }
        let error = ConfigurationError(
            file: file,
            position: Position(line: line, column: column),
            key: "",
            message: "not valid UTF-8; save the file as UTF-8"
        )
        return ConfigurationErrors([error])
    }

    /// Whether the errors affect one of these keys or anything below it.
    ///
    /// They do if the key is misspelled, or if the whole file is unreadable.
    package func concerns(_ keys: [String]) -> Bool {
        errors.contains { error in
            let root = String(error.key.prefix { $0 != "." })
            let known = RootKeys.table.names
            let meant = known.contains(root) ? nil : NearestKey.of(root, among: known)
            // An unreadable included file may have contained any channel, or defaults.
            if error.key.isEmpty, draft != nil, !keys.contains(where: Self.isIncluded) {
                return false
            }
            return error.key.isEmpty || meant.map(keys.contains) ?? false
                || keys.contains { error.key == $0 || error.key.hasPrefix("\($0).") }
        }
    }

    private static func isIncluded(_ key: String) -> Bool {
        IncludedKeys.table.names.contains(String(key.prefix { $0 != "." }))
    }

    /// The admin addresses of a daemon with this configuration; nil if the errors affect them.
    package var admin: [AdminAddress]? {
        // The default is in the state directory.
        let keys = RootKeys.table.keys
        return concerns([keys.admin.name, keys.state.name]) ? nil : draft?.admin
    }

    /// One line per error.
    package var description: String {
        errors.map(\.description).joined(separator: "\n")
    }
}
