extension ConfigNode {
    /// Returns the channel's node merged over the defaults: maps are merged key by key, any other value
    /// replaces the default.
    ///
    /// Keys have the order of the defaults; keys of only the channel come after them.
    func mergedAsChannel(over defaults: ConfigNode?) -> ConfigNode {
        guard let defaults else { return self }
        // `orders:` without a value is a channel that has only the defaults.
        let own = ConfigNode(
            content: isNull ? .map([]) : content,
            path: path,
            position: position,
            keyPosition: keyPosition
        )
        return own.merged(over: defaults, as: .channel)
    }

    /// The kinds of maps with special merge rules.
    private enum MapKind {
        case channel
        case authentication
        case headers
        case headerFields
        case elsewhere

        func child(_ key: String) -> MapKind {
            switch (self, key) {
            case (.channel, "auth"): .authentication
            case (.channel, "headers"): .headers
            case (.headers, _): .headerFields
            default: .elsewhere
            }
        }

        func isSameKey(_ left: String, _ right: String) -> Bool {
            if case .headerFields = self {
                left.lowercased() == right.lowercased()
            } else {
                left == right
            }
        }
    }

    private func merged(over base: ConfigNode, as kind: MapKind) -> ConfigNode {
        guard let own = entries, var result = base.entries else { return self }
        if case .authentication = kind {
            result = Self.withoutReplacedKinds(result, own: own)
        }
        for entry in own {
            let index = result.firstIndex { kind.isSameKey($0.key, entry.key) }
            if let index {
                let value = entry.value.merged(
                    over: result[index].value,
                    as: kind.child(entry.key)
                )
                result[index] = Entry(
                    key: entry.key,
                    keyPosition: entry.keyPosition,
                    value: value
                )
            } else {
                result.append(entry)
            }
        }
        return ConfigNode(
            content: .map(result),
            path: path,
            position: position,
            keyPosition: keyPosition
        )
    }

    /// Removes the default's kind of credential and its place if the channel has a kind of its own, since
    /// there can be only one.
    private static func withoutReplacedKinds(_ base: [Entry], own: [Entry]) -> [Entry] {
        let kinds = Set(CredentialKinds.names + [AuthenticationKeys.table.keys.identity.name])
        let ownKinds = Set(own.lazy.filter { !$0.value.isNull }.map(\.key)).intersection(kinds)
        guard !ownKinds.isEmpty else { return base }
        let keys = CredentialKeys.table.keys
        let places: Set = [keys.location.name, keys.name.name, keys.prefix.name]
        return base.filter { entry in
            if places.contains(entry.key) { return base.contains { ownKinds.contains($0.key) } }
            return !kinds.contains(entry.key) || ownKinds.contains(entry.key)
        }
    }
}
