import NetproxyChannels
package import NetproxyConfig
import NetproxySystem

/// Names the files that decide which programs the daemon runs, and those programs, if other users can replace
/// them.
package enum ReplaceableFiles {
    /// Returns an error for each such file, in the order of the configuration.
    package static func errors(in configuration: ProxyConfiguration) -> [ConfigurationError] {
        // Root checks files of the service, which owns its state.
        let user = FileTrust.user == 0 ? FileTrust.owner(of: configuration.state) : nil
        let files = configuration.files.compactMap { file in
            objection(to: file, user).map { words in
                ConfigurationError(file: file, position: .start, key: "", message: words)
            }
        }
        let programs = Set(configuration.mentions).compactMap { mention -> ConfigurationError? in
            guard case .exec(let command)? = mention.resource.secret, let program = command.first,
                let words = objection(to: program, user)
            else { return nil }
            return ConfigurationError(
                file: configuration.file(at: mention.position),
                position: mention.position,
                key: mention.key,
                message: words
            )
        }
        return files + programs.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    private static func objection(to file: String, _ user: UInt32?) -> String? {
        let path = file.hasPrefix("/") ? file : FileSystem.resolved(file)
        return path.flatMap { FileTrust.objection(toFile: $0, alsoTrusting: user) }
            .map { "other users can replace \(file): \($0)" }
    }
}
