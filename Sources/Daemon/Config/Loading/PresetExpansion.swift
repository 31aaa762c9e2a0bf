import NetproxyBytes
import NetproxyPresets
import NetproxyYAML

extension ConfigNode {
    /// Returns the channel merged over its preset, and both over the defaults.
    ///
    /// - Parameters:
    ///   - defaults: the map `defaults`.
    ///   - reading: receives the errors about `with`; `nil` if another call reports them.
    /// - Returns: the merged channel.
    func mergedAsChannel(over defaults: ConfigNode?, reporting reading: Reading?) -> ConfigNode {
        for key in [ChannelKeys.table.keys.preset.name, ChannelKeys.table.keys.with.name] {
            guard let node = defaults?.child(key) else { continue }
            reading?.report("belongs to a channel, not to defaults", at: node)
        }
        guard let expansion = PresetExpansion(of: self, in: reading) else {
            return mergedAsChannel(over: defaults)
        }
        return expansion.merged(over: defaults)
    }
}

/// The keys of a channel that come from its preset, with the parameters in `with` filled in.
///
/// A value of the preset has the position of the channel's `preset`, and a parameter its own.
private struct PresetExpansion {
    private let channel: ConfigNode
    private let preset: ProviderPreset
    /// The node of the channel's key `preset`.
    private let name: ConfigNode
    private let values: [String: ConfigNode]
    private let reading: Reading?

    /// Creates the expansion of a channel; `nil` for a channel without a known preset.
    init?(of channel: ConfigNode, in reading: Reading?) {
        let keys = ChannelKeys.table.keys
        let with = channel.child(keys.with.name)
        guard let name = channel.child(keys.preset.name) else {
            if let with { reading?.report("there is no preset, so it has no parameters", at: with) }
            return nil
        }
        // The form of the key reports any other name.
        guard let preset = name.text.flatMap(PresetCatalog.preset(named:)) else { return nil }
        (self.channel, self.preset, self.name, self.reading) = (channel, preset, name, reading)
        if let with, with.entries == nil {
            reading?.report("expected a map of parameters, found \(with.kind)", at: with)
        }
        let given = (with?.entries ?? []).filter { !$0.value.isNull }
        values = Dictionary(given.map { ($0.key, $0.value) }) { first, _ in first }
        for entry in with?.entries ?? [] where preset.parameter(entry.key) == nil {
            reading?.report(unknownParameter(entry.key), at: entry.place)
        }
    }

    func merged(over defaults: ConfigNode?) -> ConfigNode {
        var base = node(preset.channel, at: channel.path)
        for (parameter, overlay) in preset.without.sorted(by: { $0.key < $1.key })
        where values[parameter] == nil {
            base = node(overlay, at: channel.path)?.mergedAsChannel(over: base) ?? base
        }
        let preset = base?.mergedAsChannel(over: defaults) ?? defaults
        let merged = channel.mergedAsChannel(over: preset)
        reportMissing(in: merged)
        return merged
    }

    private func unknownParameter(_ name: String) -> String {
        let known = preset.parameters.map(\.name)
        let meant = NearestKey.likely(name, among: known).map { "did you mean '\($0)'?" }
        return "unknown parameter of preset \(preset.name), "
            + (meant ?? "expected \(known.alternatives)")
    }

    // MARK: - Filling in

    /// Returns the configuration's node for a node of the preset; `nil` if it needs an optional parameter
    /// without a value.
    private func node(_ yaml: YAMLNode, at path: String) -> ConfigNode? {
        switch yaml.content {
        case .scalar(let scalar): return filled(scalar.text, at: path)
        case .sequence(let items):
            return made(.list(items.compactMap { node($0, at: path) }), at: path)
        case .mapping(let entries):
            return made(
                .map(
                    entries.compactMap { entry -> ConfigNode.Entry? in
                        guard let key = entry.key.text else { return nil }
                        let place = "\(path).\(key)"
                        let value =
                            key == ChannelKeys.table.keys.exec.name
                            ? unfilled(entry.value, at: place) : node(entry.value, at: place)
                        return value.map {
                            ConfigNode.Entry(key: key, keyPosition: name.position, value: $0)
                        }
                    }
                ),
                at: path
            )
        }
    }

    /// Returns the variables of `exec`, in which `{key}` is the lent key.
    private func unfilled(_ yaml: YAMLNode, at path: String) -> ConfigNode? {
        guard case .mapping(let entries) = yaml.content else { return nil }
        return made(
            .map(
                entries.compactMap { entry -> ConfigNode.Entry? in
                    guard let key = entry.key.text, let text = entry.value.text else { return nil }
                    let value = made(.scalar(text), at: "\(path).\(key)")
                    return ConfigNode.Entry(key: key, keyPosition: name.position, value: value)
                }
            ),
            at: path
        )
    }

    private func filled(_ text: String, at path: String) -> ConfigNode? {
        var text = text
        var source = made(.null, at: path)
        for parameter in preset.parameters {
            let placeholder = "{\(parameter.name)}"
            guard text.contains(placeholder) else { continue }
            guard let value = values[parameter.name] else {
                return standIn(for: parameter, in: text)
            }
            if text == placeholder { return value }
            text.replace(placeholder, with: value.text ?? "")
            source = value
        }
        return ConfigNode(
            content: .scalar(text),
            path: source.path,
            position: source.position,
            keyPosition: source.keyPosition
        )
    }

    private func made(_ content: ConfigNode.Content, at path: String) -> ConfigNode {
        ConfigNode(
            content: content,
            path: path,
            position: name.position,
            keyPosition: name.position
        )
    }

    // MARK: - Missing parameters

    private func path(of parameter: ProviderPreset.Parameter) -> String {
        "\(channel.path).\(ChannelKeys.table.keys.with.name).\(parameter.name)"
    }

    /// Returns a valid text with a required parameter, so that its absence is the only error; `nil` for an
    /// optional parameter.
    private func standIn(
        for parameter: ProviderPreset.Parameter,
        in text: String
    ) -> ConfigNode? {
        guard parameter.necessity == .required else { return nil }
        var text = text
        for parameter in preset.parameters {
            let value = parameter.kind == .secret ? "literal:missing" : parameter.example ?? "x"
            text.replace("{\(parameter.name)}", with: value)
        }
        return made(.scalar(text), at: path(of: parameter))
    }

    /// Reports the required parameters without a value; keys of the channel may have replaced the keys
    /// that use them.
    private func reportMissing(in merged: ConfigNode) {
        guard let reading else { return }
        for parameter in preset.parameters where values[parameter.name] == nil {
            let path = path(of: parameter)
            guard merged.containsValue(of: path) else { continue }
            let with = channel.child(ChannelKeys.table.keys.with.name)
            reading.report(
                "required by preset \(preset.name): \(parameter.create)",
                at: Place(position: (with ?? name).position, key: path)
            )
        }
    }
}

extension ConfigNode {
    /// Whether the node, or one below it, has this original key path.
    fileprivate func containsValue(of path: String) -> Bool {
        switch content {
        case .null: false
        case .scalar: self.path == path
        case .list(let items): items.contains { $0.containsValue(of: path) }
        case .map(let entries): entries.contains { $0.value.containsValue(of: path) }
        }
    }
}

extension Form<ProviderPreset> {
    /// The name of a built-in provider.
    static var preset: Form {
        Form(.choice(PresetCatalog.names)) { slot in
            guard let node = slot.node else { return nil }
            if let preset = node.text.flatMap(PresetCatalog.preset(named:)) { return preset }
            slot.report(
                node.text.map { PresetCatalog.unknown(ConfigNode.printable($0)) }
                    ?? "expected the name of a preset, found \(node.found)"
            )
            return nil
        }
    }
}
