import FoundationEssentials
package import NetproxyConfig
package import NetproxyRequestLog
package import NetproxySettings

/// The place of the request log, and the facts about channels that its readers need; without secrets.
///
/// The daemon sends it to members of its group, who may not read the configuration.
package struct LogSource: Sendable, Codable {
    /// The absolute path of the directory.
    package var directory: String
    /// The output of the log: `file`, `stdout` or `journal`.
    package var output = LogSettings.Output.file
    /// The format of the lines.
    package var format = LogFormat.json
    /// The names of the channels, in the order of the configuration.
    package private(set) var channels: [String] = []
    /// The channels that log whole queries.
    package private(set) var wholeQueries: Set<String> = []
    /// The places of the channels' credentials, if not in the field of their kind.
    package private(set) var places: [String: CurlCommand.CredentialLocation] = [:]
    /// The addresses at which clients reach the channels.
    package private(set) var entrances = Entrances()

    /// Creates the log source of a configuration.
    package init(_ configuration: ProxyConfiguration) {
        directory = configuration.log.directory
        output = configuration.log.output
        format = configuration.log.format
        channels = configuration.channels.map(\.name)
        wholeQueries = Set(
            configuration.channels.filter { $0.log.query == .full }.map(\.name)
        )
        for channel in configuration.channels {
            places[channel.name] = channel.placement.map(CurlCommand.CredentialLocation.init)
        }
        entrances = Entrances(configuration)
    }

    /// Creates the log source of the system's service, if neither its configuration nor the daemon is
    /// readable.
    package init(ofServiceIn directory: String) {
        self.directory = directory
    }

    /// Parses the daemon's response; `nil` if it is not a log source.
    package init?(json: String) {
        let read = try? JSONDecoder().decode(LogSource.self, from: Data(json.utf8))
        guard let read else { return nil }
        self = read
    }

    /// The content of the response to `/log`.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable: strings can always be encoded.
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension CurlCommand.CredentialLocation {
    fileprivate init(_ placement: CredentialPlacement) {
        self =
            switch placement {
            case .header(let name, let prefix): .field(name: name, prefix: prefix)
            case .query(let name, _): .parameter(name)
            case .path: .path
            }
    }
}
