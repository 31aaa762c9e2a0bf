import Bytes

/// One thing that is wrong with a configuration, and where.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    package var file: String
    package var position: Position
    /// The path of the key, `channels.orders.timeouts.connect`; empty for the file as a whole.
    package var key: String
    package var message: String

    /// `FILE:LINE:COLUMN: KEY: MESSAGE`, on one line whatever stands in the file.
    package var description: String {
        let words = "\(key.isEmpty ? "" : "\(key): ")\(message)"
        return "\(file):\(position.line):\(position.column): \(ConfigNode.withoutControls(words))"
    }
}

/// All errors of a configuration, in the order of the file; never empty.
package struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package var errors: [ConfigurationError]
    /// What could be read all the same; nothing where the file is none at all.
    package var draft: ProxyConfiguration?

    /// Whether one of these keys, or something below it, is among what is wrong, be it misspelt, or the
    /// whole file.
    package func concerns(_ keys: [String]) -> Bool {
        errors.contains { error in
            let root = String(error.key.prefix { $0 != "." })
            let meant =
                RootKey(rawValue: root) == nil
                ? NearestKey.of(root, among: RootKey.allCases.map(\.rawValue)) : nil
            return error.key.isEmpty || meant.map(keys.contains) ?? false
                || keys.contains { error.key == $0 || error.key.hasPrefix("\($0).") }
        }
    }

    /// Where a daemon with this configuration would answer; nothing if that is among what is wrong.
    package var admin: AdminAddress? {
        // The default is in the state directory.
        concerns([RootKey.admin.rawValue, RootKey.state.rawValue]) ? nil : draft?.admin
    }

    /// One line per error.
    package var description: String {
        errors.map(\.description).joined(separator: "\n")
    }
}

/// A place in a text; both numbers begin at 1, columns count Unicode scalars.
package struct Position: Sendable, Hashable, Comparable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static func < (left: Position, right: Position) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}
