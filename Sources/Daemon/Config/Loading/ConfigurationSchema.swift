/// All declared keys of the configuration.
package enum ConfigurationSchema {
    /// A declared key.
    package struct DeclaredKey: Sendable {
        /// The key path, with `*` for the name of a channel or identity, and `[*]` for an item of a list.
        package let path: String
        /// The declared default as text; nil if there is none, or if it is an empty list or map.
        package let preset: String?
    }

    /// All keys, each listed once.
    ///
    /// The keys of `defaults` are those of a channel, and the kinds of credentials are listed under the first
    /// map that contains them.
    package static let keys: [DeclaredKey] = {
        var walk = Walk()
        walk.add(RootKeys.self, under: "")
        return walk.keys
    }()

    /// The declared defaults of a channel's keys, by their key paths within it.
    package static let channelDefaults: [String: String] = {
        var walk = Walk()
        walk.add(ChannelKeys.self, under: "")
        let defaults = walk.keys.compactMap { key in key.preset.map { (key.path, $0) } }
        return Dictionary(defaults) { first, _ in first }
    }()

    private struct Walk {
        var keys: [DeclaredKey] = []
        private var seen: Set<ObjectIdentifier> = []

        mutating func add(_ section: any SectionKeys.Type, under prefix: String) {
            guard seen.insert(ObjectIdentifier(section)).inserted else { return }
            for key in section.declared {
                let path = prefix + key.name
                keys.append(DeclaredKey(path: path, preset: key.preset?.text))
                // The keys of `defaults` are listed under `channels`.
                if path != "defaults" { add(key.shape, at: path) }
            }
        }

        private mutating func add(_ shape: Shape, at path: String) {
            switch shape {
            case .map(let keys): add(keys, under: "\(path).")
            case .records(let keys): add(keys, under: "\(path).*.")
            case .list(let item): add(item, at: "\(path)[*]")
            case .either(let shapes): for shape in shapes { add(shape, at: path) }
            default: break
            }
        }
    }
}
