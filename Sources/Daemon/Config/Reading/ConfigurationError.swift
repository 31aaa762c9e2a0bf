/// One mistake in a configuration, and its position.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    package var file: String
    package var position: Position
    /// The path of the key, `channels.orders.timeouts.connect`; empty for the file as a whole.
    package var key: String
    package var message: String

    package init(file: String, position: Position, key: String, message: String) {
        (self.file, self.position, self.key, self.message) = (file, position, key, message)
    }

    /// `FILE:LINE:COLUMN: KEY: MESSAGE`, always a single line.
    package var description: String {
        let words = "\(key.isEmpty ? "" : "\(key): ")\(message)"
        // The name of an included file comes from the directory and may contain anything.
        return ConfigNode.withoutControls("\(file):\(position.line):\(position.column): \(words)")
    }
}
