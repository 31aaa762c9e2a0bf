import FoundationEssentials
import NetproxyChannels
package import NetproxyConfig

extension ConfigurationErrors {
    /// The error of an included file that cannot be read.
    package static func unreadable(included file: String) -> ConfigurationErrors {
        let error = ConfigurationError(
            file: file,
            position: .start,
            key: "",
            message: FileProblem.unusable(file)
        )
        return ConfigurationErrors([error])
    }

    /// The error of a configuration file that cannot be read.
    ///
    /// - Parameters:
    ///   - file: its path.
    ///   - personal: the user's own configuration file, if it was looked for first and is missing.
    /// - Returns: one error, which says what to do.
    package static func unreadable(
        _ file: String,
        missing personal: String? = nil
    ) -> ConfigurationErrors {
        // A user who may not read the service's file means the service, not a file of their own.
        let advice =
            switch personal {
            case .some where FileProblem.isDenied(file):
                "run this as the service's user, or as root"
            case .some(let personal):
                "netproxy init writes \(personal), or name another with --config"
            case nil
            where FileManager.default.fileExists(atPath: file) || FileProblem.isDenied(file):
                "name another with --config"
            case nil: "netproxy init --config \(file) writes one to start from"
            }
        let error = ConfigurationError(
            file: file,
            position: .start,
            key: "",
            message: "\(FileProblem.unreadable(file)); \(advice)"
        )
        return ConfigurationErrors([error])
    }
}
