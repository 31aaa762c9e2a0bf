import EventIO
import FoundationEssentials
import HTTPMessage

/// Looks at the files and secrets that a configuration names; changes nothing, runs nothing.
package enum ConfigurationChecker {
    /// Says what is wrong with the content of a key that could be read; nil if nothing is.
    ///
    /// It comes from those who use such keys and know their formats.
    package typealias KeyJudge = @Sendable (Mention.Resource, [UInt8]) -> String?

    /// Tries to read each of them.
    ///
    /// - Parameters:
    ///   - configuration: as it was loaded.
    ///   - file: what errors call the configuration file.
    ///   - resolver: reads the secrets, which are forgotten again.
    ///   - judge: looks at keys more closely; without it any text will do.
    /// - Returns: what is wrong, in the order of the file.
    package static func check(
        _ configuration: ProxyConfiguration,
        file: String,
        resolver: SecretResolver,
        judge: KeyJudge = { _, _ in nil }
    ) -> [ConfigurationError] {
        // A file that the defaults name is mentioned once by each channel.
        let errors = Set(configuration.mentions).compactMap { mention in
            problem(with: mention.resource, resolver, judge).map { message in
                ConfigurationError(
                    file: file,
                    position: mention.position,
                    key: mention.key,
                    message: message
                )
            }
        }
        return errors.sorted { ($0.position, $0.key) < ($1.position, $1.key) }
    }

    private static func problem(
        with resource: Mention.Resource,
        _ resolver: SecretResolver,
        _ judge: KeyJudge
    ) -> String? {
        switch resource {
        case .secret(let reference):
            problem { () throws(SecretError) in _ = try resolver.read(reference) }
        case .fieldValue(let reference, let start):
            problem(with: resource, reference, Self.fieldJudge(start)) { () throws(SecretError) in
                try resolver.read(reference)
            }
        case .stateKey(let reference):
            problem(with: resource, reference, judge) { () throws(SecretError) in
                try resolver.read(reference)
            }
        case .signingKey(let reference), .serviceAccount(let reference):
            problem(with: resource, reference, judge) { () throws(SecretError) in
                try resolver.readDocument(reference)
            }
        case .authorities(let path):
            unreadable(path) ?? unusable { $0.authorities = path }
        case .certificates(let path): unreadable(path)
        case .clientCertificate(let files):
            // What cannot be read is told where it is named.
            unreadable(files.certificate) != nil || unreadable(files.key) != nil
                ? nil
                : unusable { ($0.certificate, $0.key) = (files.certificate, files.key) }
        case .sample(let path):
            sampleProblem(path)
        case .journal(let path):
            FileManager.default.fileExists(atPath: path)
                ? nil
                : "nobody listens at \(path): is systemd-journald running? else use file or stdout"
        case .directory(let path):
            directoryProblem(path)
        }
    }

    private static func fieldJudge(_ start: String) -> KeyJudge {
        { _, bytes in
            Grammar.isFieldValue(start + String(decoding: bytes, as: UTF8.self))
                ? nil : "begins or ends with a blank, which no header field may"
        }
    }

    private static func problem(_ read: () throws(SecretError) -> Void) -> String? {
        do throws(SecretError) {
            try read()
            return nil
        } catch {
            return error.description
        }
    }

    private static func problem(
        with resource: Mention.Resource,
        _ reference: SecretReference,
        _ judge: KeyJudge,
        _ read: () throws(SecretError) -> [UInt8]
    ) -> String? {
        do throws(SecretError) {
            let bytes = try read()
            // A program is not run for this.
            if case .exec = reference { return nil }
            return judge(resource, bytes).map { "\(reference): \($0)" }
        } catch {
            return error.description
        }
    }

    private static func unreadable(_ path: String) -> String? {
        guard let contents = FileManager.default.contents(atPath: path) else {
            return UnreadableFile.words(path)
        }
        return String(decoding: contents, as: UTF8.self).contains("-----BEGIN ")
            ? nil : "\(path) is not a PEM file"
    }

    /// What the TLS library says of files, which is what a start would say.
    private static func unusable(_ demand: (inout TLSContext.Options) -> Void) -> String? {
        var options = TLSContext.Options()
        demand(&options)
        do throws(IOError) {
            _ = try TLSContext(options)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func sampleProblem(_ path: String) -> String? {
        guard let contents = FileManager.default.contents(atPath: path) else {
            return UnreadableFile.words(path)
        }
        return contents.count > SampleAnswer.fileLimit.bytes
            ? "\(path) is larger than \(SampleAnswer.fileLimit)" : nil
    }

    private static func directoryProblem(_ path: String) -> String? {
        var isDirectory = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        return exists && !isDirectory ? "\(path) is not a directory" : nil
    }
}
