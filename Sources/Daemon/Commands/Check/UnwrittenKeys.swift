import FoundationEssentials
import NetproxyChannels
package import NetproxyConfig
import NetproxyPresets

extension Mention {
    /// The channel and the parameter of its preset, if the secret is in a file that does not exist yet, as
    /// after `netproxy init --for`.
    var unwrittenKey: (channel: String, parameter: String, file: String)? {
        let parts = key.split(separator: ".")
        guard parts.count == 4, parts[0] == "channels", parts[2] == "with",
            case .file(let path)? = resource.secret,
            !FileManager.default.fileExists(atPath: path)
        else { return nil }
        return (String(parts[1]), String(parts[3]), path)
    }
}

extension ProxyConfiguration {
    /// The notes on files for keys of presets that do not exist yet, in the order of the file.
    package var unwrittenKeyNotes: [ConfigurationError] {
        let notes = Set(mentions).compactMap { mention -> ConfigurationError? in
            guard let missing = mention.unwrittenKey else { return nil }
            let name = channels.first { $0.name == missing.channel }?.preset
            let preset = name.flatMap(PresetCatalog.preset(named:))
            let create = preset?.parameter(missing.parameter).map { ": \($0.create)" } ?? ""
            return ConfigurationError(
                file: file(at: mention.position),
                position: mention.position,
                key: mention.key,
                message: "note: \(missing.file) does not exist yet; put the secret into it\(create)"
            )
        }
        return notes.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }
}
