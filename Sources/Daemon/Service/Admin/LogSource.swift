import FoundationEssentials
package import NetproxyConfig
package import NetproxyRequestLog

/// Where the request log is, and what a reader of it must know of the channels; without secrets.
///
/// The daemon tells it to members of its group, who may not read the configuration.
package struct LogSource: Sendable, Codable {
    /// The absolute path of the directory.
    package var directory: String
    /// Where the log goes: `file`, `stdout` or `journal`.
    package var output = LogSettings.Output.file
    /// How its lines are written.
    package var format = LogSettings.Format.json
    /// The names of the channels, in the order of the configuration.
    package private(set) var channels: [String] = []
    /// The channels that log whole queries.
    package private(set) var wholeQueries: Set<String> = []
    /// Where the credentials of channels go, if not into the field of their kind.
    package private(set) var places: [String: CurlCommand.Place] = [:]
    /// Where apps come in.
    package private(set) var entrances = Entrances()

    /// The log of a configuration.
    package init(_ configuration: ProxyConfiguration) {
        directory = configuration.log.directory
        output = configuration.log.output
        format = configuration.log.format
        channels = configuration.channels.map(\.name)
        wholeQueries = Set(
            configuration.channels.filter { $0.log.query == .full }.map(\.name)
        )
        for channel in configuration.channels {
            places[channel.name] = channel.placement.map(CurlCommand.Place.init)
        }
        entrances = Entrances(configuration)
    }

    /// The log of the system's service, if neither its configuration nor the daemon can be asked.
    package init(ofServiceIn directory: String) {
        self.directory = directory
    }

    /// Reads the daemon's answer; `nil` if it is another.
    package init?(json: String) {
        let read = try? JSONDecoder().decode(LogSource.self, from: Data(json.utf8))
        guard let read else { return nil }
        self = read
    }

    /// The answer to `/log`.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable else: texts can always be encoded.
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension CurlCommand.Place {
    fileprivate init(_ placement: CredentialPlacement) {
        self =
            switch placement {
            case .header(let name, let prefix): .field(name: name, prefix: prefix)
            case .query(let name, _): .parameter(name)
            case .path: .path
            }
    }
}
