import FoundationEssentials
import NetproxyAWSSigning
import NetproxyChannels
package import NetproxyConfig
import NetproxyHTTPMessage
import NetproxySystem

/// Warns of secrets that every user of the machine can read or replace, and of tokens that other users can
/// replace.
package enum PublicSecrets {
    /// Checks the files with secrets, the configuration file if it contains a secret, and the token
    /// directory.
    ///
    /// - Parameter configuration: the configuration, with its file.
    /// - Returns: the warnings, in the order of the file.
    package static func warnings(in configuration: ProxyConfiguration) -> [ConfigurationError] {
        var known: [String: Danger] = [:]
        func danger(_ path: String) -> Danger {
            if let known = known[path] { return known }
            let found = Self.danger(path)
            known[path] = found
            return found
        }
        var warnings = Set(configuration.mentions).compactMap { mention -> ConfigurationError? in
            let place: (path: String, words: String)
            switch mention.resource.secret {
            case .file(let path)?: place = (path, path)
            case .literal?:
                let file = configuration.file(at: mention.position)
                place = (file, "this file, and the secret in it")
            case .environment?, .credential?, .exec?, nil: return nil
            }
            let verb: String
            switch danger(place.path) {
            case .none: return nil
            case .reading: verb = "read"
            case .writing: verb = "change"
            case .both: verb = "read and change"
            }
            return ConfigurationError(
                file: configuration.file(at: mention.position),
                position: mention.position,
                key: mention.key,
                message: "warning: every user of this machine can \(verb) \(place.words); "
                    + "fix: chmod o= \(place.path)"
            )
        }
        if let objection = FileTrust.objection(toDirectory: configuration.state) {
            let mention = configuration.mentions.first {
                $0.resource == .directory(configuration.state) && $0.key == "state"
            }
            warnings.append(
                ConfigurationError(
                    file: configuration.file,
                    position: mention?.position ?? .start,
                    key: "state",
                    message: "warning: \(objection)"
                )
            )
        }
        for endpoint in configuration.etcd?.endpoints ?? []
        where endpoint.scheme == .http && !endpoint.isLoopback {
            warnings.append(
                ConfigurationError(
                    file: configuration.file,
                    position: .start,
                    key: "state.etcd.endpoints",
                    message:
                        "warning: the way to \(endpoint) is not protected: others can replace the "
                        + "stored tokens by older ones; use https://"
                )
            )
        }
        return warnings.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    /// The access that users other than the owner and the group have to a file.
    private enum Danger {
        case none, reading, writing, both
    }

    private static func danger(_ path: String) -> Danger {
        var place = URL(filePath: path).resolvingSymlinksInPath()
        let mode = permissions(place.path)
        guard mode & 0o6 != 0 else { return .none }
        while place.path != "/", place.path != "" {
            place.deleteLastPathComponent()
            guard permissions(place.path) & 0o1 != 0 else { return .none }
        }
        return mode & 0o6 == 0o6 ? .both : mode & 0o2 != 0 ? .writing : .reading
    }

    /// Returns the permissions of a file, or zero if its status cannot be read, which the checker reports.
    private static func permissions(_ path: String) -> UInt32 {
        do throws(FileError) {
            return try FileStatus.of(path: path).permissions
        } catch {
            return 0
        }
    }
}

extension ProxyConfiguration {
    /// The notes on systemd credentials, in the order of the file.
    ///
    /// A check outside of the service cannot read them.
    package var credentialNotes: [ConfigurationError] {
        let notes = Set(mentions).compactMap { mention -> ConfigurationError? in
            guard case .credential? = mention.resource.secret, let secret = mention.resource.secret
            else { return nil }
            return ConfigurationError(
                file: file(at: mention.position),
                position: mention.position,
                key: mention.key,
                message:
                    "note: \(secret) is not checked: only the service has $CREDENTIALS_DIRECTORY"
            )
        }
        return notes.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    /// Returns the notes on `source: container`, in the order of the file, if the environment names no
    /// permitted agent.
    ///
    /// The service may have another environment.
    package func containerNotes(in environment: [String: String]) -> [ConfigurationError] {
        let problem: ContainerCredentials.Unusable
        do throws(ContainerCredentials.Unusable) {
            _ = try ContainerCredentials.endpoint(in: environment)
            return []
        } catch {
            problem = error
        }
        let notes = Set(mentions).filter { $0.resource == .containerAgent }.map { mention in
            ConfigurationError(
                file: file(at: mention.position),
                position: mention.position,
                key: mention.key,
                message: "note: container cannot be used in this environment: \(problem)"
            )
        }
        return notes.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }
}
