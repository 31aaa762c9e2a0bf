/// The values of a configuration as written, by their key paths, for comparison by people.
package struct WrittenValues: Sendable, Hashable {
    private struct Value: Sendable, Hashable {
        var text: String
        /// Whether the value may be a credential, so that only the fact of a change is shown.
        var isPrivate: Bool
    }

    private var values: [String: Value] = [:]

    /// The declared defaults of a channel's keys, by their key paths within it.
    private let channelDefaults: [String: String]

    init(channelDefaults: [String: String] = [:]) {
        self.channelDefaults = channelDefaults
    }

    /// Returns the differences from an earlier configuration, one line for each key:
    /// `timeouts.total: off → 30s`.
    ///
    /// - Parameters:
    ///   - earlier: the earlier values.
    ///   - channel: the channel to compare; `nil` compares the values of the process.
    /// - Returns: the lines, sorted; a line about a value that may be a credential says only that it changed.
    package func changes(from earlier: WrittenValues, channel: String?) -> [String] {
        let prefix = channel.map { "channels.\($0)." }
        let keys = Set(values.keys).union(earlier.values.keys).filter { key in
            prefix.map { key.hasPrefix($0) } ?? !key.hasPrefix("channels.")
        }
        return keys.sorted().compactMap { key in
            let (old, new) = (earlier.values[key], values[key])
            guard old != new else { return nil }
            if old?.isPrivate == true || new?.isPrivate == true {
                return "\(key): \(old == nil ? "added" : new == nil ? "removed" : "changed")"
            }
            let preset = prefix.flatMap { channelDefaults[String(key.dropFirst($0.count))] }
            let absent = preset ?? "default"
            let (before, after) = (old?.text ?? absent, new?.text ?? absent)
            return before == after ? nil : "\(key): \(before) → \(after)"
        }
    }

    /// Returns the text of the value at a key path, or nil if none is written.
    package func text(at path: String) -> String? { values[path]?.text }

    /// The key paths of the written values.
    package var paths: [String] { values.keys.sorted() }

    /// Sets the value of a key path.
    mutating func set(_ path: String, to text: String, of shape: Shape) {
        values[path] = Value(text: text, isPrivate: shape.isPrivate)
    }
}
