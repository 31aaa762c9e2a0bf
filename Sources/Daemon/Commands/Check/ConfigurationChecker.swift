import FoundationEssentials
package import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxySettings
import NetworkCore
import OAuth

/// Checks the files and secrets that a configuration names, without running any helper program.
package struct ConfigurationChecker: Sendable {
    private let resolver: SecretResolver
    private let credentials: Credentials
    private let scope: Scope

    /// The scope of the check.
    package enum Scope: Sendable {
        case everything
        /// Only those of the daemon itself, such as `state_key`.
        ///
        /// If a channel's own cannot be read, the daemon reports that and serves the other channels.
        case daemon
    }

    /// The treatment of `cred:` secrets.
    package enum Credentials: Sendable {
        /// They are read like all other secrets.
        case checked
        /// They are skipped, because only the service can read them.
        case unchecked
    }

    /// Creates a checker.
    ///
    /// - Parameters:
    ///   - resolver: reads the secrets; the checker does not keep them.
    ///   - credentials: whether systemd credentials are read.
    ///   - scope: the files and secrets to check.
    package init(
        resolver: SecretResolver,
        credentials: Credentials = .checked,
        scope: Scope = .everything
    ) {
        self.resolver = resolver
        self.credentials = credentials
        self.scope = scope
    }

    /// Checks the files and secrets of a loaded configuration and adds the problems to its errors.
    ///
    /// - Parameter loaded: the result of ``ConfigurationLoader``.
    /// - Returns: the configuration, or all errors in the text, the files and the secrets.
    package func check(
        _ loaded: Result<ProxyConfiguration, ConfigurationErrors>
    ) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let draft: ProxyConfiguration
        var errors: [ConfigurationError] = []
        switch loaded {
        case .success(let configuration):
            draft = configuration
        case .failure(let failure):
            guard let readable = failure.draft else { return loaded }
            draft = readable
            errors = failure.errors
        }
        errors += problems(of: draft)
        return errors.isEmpty ? loaded : .failure(ConfigurationErrors(errors, draft: draft))
    }

    /// Returns the problems of the files and secrets, in the order of the file.
    package func problems(of configuration: ProxyConfiguration) -> [ConfigurationError] {
        // A file named in the defaults is mentioned once per channel.
        let mentions = Set(configuration.mentions).filter { mention in
            (scope == .everything || mention.isOfDaemon) && mention.unwrittenKey == nil
        }
        let errors = mentions.compactMap { mention in
            problem(with: mention.resource).map { message in
                ConfigurationError(
                    file: configuration.file(at: mention.position),
                    position: mention.position,
                    key: mention.key,
                    message: message
                )
            }
        }
        return errors.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    private func problem(with resource: Mention.Resource) -> String? {
        switch resource {
        case .secret(let reference):
            problem(with: reference, .line) { _ in }
        case .fieldValue(let reference, let prefix):
            problem(with: reference, .line) { value throws(SecretError) in
                guard Grammar.isFieldValue(prefix + value) else {
                    throw SecretError(
                        "begins or ends with a space or tab, which no header field may"
                    )
                }
            }
        case .stateKey(let reference):
            problem(with: reference, .line) { _ = try TokenSeal(base64: Secret($0)) }
        case .signingKey(let reference):
            problem(with: reference, .document) { _ = try SigningKey(pem: Secret($0)) }
        case .jwtKey(let reference, let algorithm):
            problem(with: reference, .document) {
                _ = try SigningKey(jwtKey: Secret($0), id: nil, algorithm)
            }
        case .sharedKey(let reference, let encoding):
            problem(with: reference, .line) { _ = try encoding.bytes(of: Secret($0)) }
        case .serviceAccount(let reference):
            problem(with: reference, .document) { _ = try ServiceAccountKey(json: Secret($0)) }
        case .authorities(let path):
            FileProblem.notPEM(path) ?? unusable { $0.authorities = path }
        case .certificates(let path): FileProblem.notPEM(path)
        case .clientCertificate(let files):
            // Unreadable files are reported at their own keys.
            FileProblem.notPEM(files.certificate) != nil || FileProblem.notPEM(files.key) != nil
                ? nil
                : unusable { $0.clientCertificate = files }
        case .sample(let path): FileProblem.tooLarge(path, limit: SampleAnswer.fileLimit)
        case .journal(let path):
            FileManager.default.fileExists(atPath: path)
                ? nil
                : "nothing is listening at \(path): is systemd-journald running? "
                    + "Otherwise use file or stdout"
        case .directory(let path): FileProblem.notDirectory(path)
        // The daemon may have another environment, so this is a note, not an error.
        case .containerAgent: nil
        }
    }

    /// Reads a secret and checks its content, or checks only that a helper program is executable.
    private func problem(
        with reference: SecretReference,
        _ kind: SecretResolver.Kind,
        _ check: (String) throws -> Void
    ) -> String? {
        if case .credential = reference, credentials == .unchecked { return nil }
        let bytes: [UInt8]
        do throws(SecretError) {
            bytes = try resolver.readWithoutHelper(reference, kind)
        } catch {
            return error.description
        }
        if case .exec = reference { return nil }
        do {
            try check(String(decoding: bytes, as: UTF8.self))
            return nil
        } catch {
            return "\(reference): \(error)"
        }
    }

    /// Returns the TLS library's error, the same as at startup.
    private func unusable(_ demand: (inout TLSDemands) -> Void) -> String? {
        var demands = TLSDemands()
        demand(&demands)
        do throws(IOError) {
            _ = try TLSContext(demands)
            return nil
        } catch {
            return "\(error)"
        }
    }
}

extension Mention {
    /// Whether the daemon itself uses the file or secret, rather than some of its channels.
    fileprivate var isOfDaemon: Bool {
        !["channels.", "identities.", "defaults."].contains(where: key.hasPrefix)
    }
}
