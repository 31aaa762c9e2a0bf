import FoundationEssentials
import NetproxyChannels
package import NetproxyConfig

extension ConfigurationErrors {
    /// Returns the error for an included file that cannot be read.
    package static func unreadable(included file: String) -> ConfigurationErrors {
        let error = ConfigurationError(
            file: file,
            position: .start,
            key: "",
            message: FileProblem.unusable(file)
        )
        return ConfigurationErrors([error])
    }

    /// Returns the error for a configuration file that cannot be read.
    ///
    /// - Parameters:
    ///   - file: the path of the file.
    ///   - personal: the user's own configuration file, if it was tried first and does not exist.
    /// - Returns: one error, with advice.
    package static func unreadable(
        _ file: String,
        missing personal: String? = nil
    ) -> ConfigurationErrors {
        // A user who cannot read the service's file wants the service's configuration, not a file of their
        // own.
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
