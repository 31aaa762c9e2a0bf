import FoundationEssentials
import System

extension ConfigurationChecker {
    /// What is right by the rules, and seldom meant: secrets that every user of the machine can read.
    ///
    /// - Parameters:
    ///   - configuration: as it was loaded.
    ///   - file: the configuration file, by its path.
    /// - Returns: the warnings, in the order of the file.
    package static func warnings(
        _ configuration: ProxyConfiguration,
        file: String
    ) -> [ConfigurationError] {
        // One file may be named many times.
        var known: [String: Bool] = [:]
        func isPublic(_ path: String) -> Bool {
            if let known = known[path] { return known }
            let found = Self.isPublic(path)
            known[path] = found
            return found
        }
        let warnings = Set(configuration.mentions).compactMap { mention -> ConfigurationError? in
            let place: (path: String, words: String)
            switch mention.resource.secret {
            case .file(let path)?: place = (path, path)
            case .literal?: place = (file, "this file, and the secret in it")
            case .environment?, .credential?, .exec?, nil: return nil
            }
            guard isPublic(place.path) else { return nil }
            return ConfigurationError(
                file: file,
                position: mention.position,
                key: mention.key,
                message: "warning: every user of this machine can read \(place.words); "
                    + "chmod o= takes that away"
            )
        }
        return warnings.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    /// The error of a secret that could not be had, where the configuration names it first.
    ///
    /// - Parameters:
    ///   - reference: the secret.
    ///   - channel: whose it is.
    ///   - configuration: as it was loaded.
    ///   - problem: why.
    /// - Returns: the error.
    package static func error(
        of reference: SecretReference,
        in channel: String,
        of configuration: ProxyConfiguration,
        _ problem: SecretError
    ) -> ConfigurationError {
        let mentions = configuration.mentions.filter { $0.resource.secret == reference }
        let mention =
            mentions.first { $0.key.hasPrefix("channels.\(channel).") } ?? mentions.first
        return ConfigurationError(
            file: configuration.file,
            position: mention?.position ?? Position(line: 1, column: 1),
            key: mention?.key ?? "channels.\(channel)",
            message: problem.description
        )
    }

    /// Whether others than owner and group can read a file, and come to where it is.
    private static func isPublic(_ path: String) -> Bool {
        var place = URL(filePath: path).resolvingSymlinksInPath()
        guard permissions(place.path) & 0o4 != 0 else { return false }
        while place.path != "/", place.path != "" {
            place.deleteLastPathComponent()
            guard permissions(place.path) & 0o1 != 0 else { return false }
        }
        return true
    }

    /// None for what cannot be looked at, of which the errors tell.
    private static func permissions(_ path: String) -> UInt32 {
        do throws(FileError) {
            return try FileStatus.of(path: path).permissions
        } catch {
            return 0
        }
    }
}

extension Mention.Resource {
    /// The secret that is named; nothing for what is none.
    var secret: SecretReference? {
        switch self {
        case .secret(let reference), .fieldValue(let reference, _), .signingKey(let reference),
            .serviceAccount(let reference), .stateKey(let reference):
            reference
        case .clientCertificate(let files): .file(files.key)
        case .authorities, .certificates, .sample, .journal, .directory: nil
        }
    }
}
