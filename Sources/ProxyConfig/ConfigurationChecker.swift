import EventIO
import FoundationEssentials

/// Looks at the files and secrets that a configuration names; changes nothing, runs nothing.
package enum ConfigurationChecker {
    /// Tries to read each of them.
    ///
    /// - Parameters:
    ///   - configuration: as it was loaded.
    ///   - file: what errors call the configuration file.
    ///   - resolver: reads the secrets, which are forgotten again.
    /// - Returns: what is wrong, in the order of the file.
    package static func check(
        _ configuration: ProxyConfiguration,
        file: String,
        resolver: SecretResolver
    ) -> [ConfigurationError] {
        let errors = Set(
            configuration.mentions.compactMap { mention in
                problem(with: mention.resource, resolver).map { message in
                    ConfigurationError(
                        file: file,
                        position: mention.position,
                        key: mention.key,
                        message: message
                    )
                }
            }
        )
        return errors.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    private static func problem(
        with resource: Mention.Resource,
        _ resolver: SecretResolver
    ) -> String? {
        switch resource {
        case .secret(let reference):
            do throws(SecretError) {
                _ = try resolver.read(reference)
                return nil
            } catch {
                return error.description
            }
        case .document(let reference):
            do throws(SecretError) {
                _ = try resolver.readDocument(reference)
                return nil
            } catch {
                return error.description
            }
        case .certificates(let path):
            return problem(withPEM: path)
        case .authorities(let path):
            var options = TLSContext.Options()
            options.authorities = path
            return problem(withPEM: path) ?? problem(with: options)
        case .identity(let certificate, let key):
            // A file that cannot be read at all is reported where it is named.
            guard problem(withPEM: certificate) == nil, problem(withPEM: key) == nil else {
                return nil
            }
            var options = TLSContext.Options()
            (options.certificate, options.key) = (certificate, key)
            return problem(with: options)
        case .sample(let path):
            guard let contents = FileManager.default.contents(atPath: path) else {
                return UnreadableFile.words(path)
            }
            return contents.count > SampleAnswer.fileLimit.bytes
                ? "\(path) is larger than \(SampleAnswer.fileLimit)" : nil
        case .journal(let path):
            return FileManager.default.fileExists(atPath: path)
                ? nil
                : "nobody listens at \(path): is systemd-journald running? else use file or stdout"
        case .directory(let path):
            var isDirectory = false
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            return exists && !isDirectory ? "\(path) is not a directory" : nil
        }
    }

    private static func problem(withPEM path: String) -> String? {
        guard let contents = FileManager.default.contents(atPath: path) else {
            return UnreadableFile.words(path)
        }
        return String(decoding: contents, as: UTF8.self).contains("-----BEGIN ")
            ? nil : "\(path) is not a PEM file"
    }

    /// What the service would say of them when it starts.
    private static func problem(with options: TLSContext.Options) -> String? {
        do throws(IOError) {
            _ = try TLSContext(options)
            return nil
        } catch {
            return error.description
        }
    }
}
