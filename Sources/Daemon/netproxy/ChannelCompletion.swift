import ArgumentParser
import FoundationEssentials
import NetproxyConfig

extension CompletionKind {
    /// The names of the configured channels, if the configuration can be read.
    static var channels: CompletionKind { names { $0.channels.map(\.name) } }

    /// The names of the configured identities and channels.
    static var credentials: CompletionKind {
        names { $0.identities.map(\.name) + $0.channels.map(\.name) }
    }

    private static func names(
        _ list: @escaping @Sendable (ProxyConfiguration) -> [String]
    ) -> CompletionKind {
        .custom { words, _, _ in
            let file = ConfigurationFile(path: namedFile(words), reader: .command)
            guard case .success(let configuration) = file.read(.text) else { return [] }
            return list(configuration)
        }
    }

    /// The value of `--config` on the command line so far.
    private static func namedFile(_ words: [String]) -> String? {
        let prefix = "--config="
        let option = words.firstIndex(of: "--config")
        let file =
            option.map { words[words.index(after: $0)...].first }
            ?? words.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        // The shell passes the words as typed.
        guard let file, file.hasPrefix("~/") else { return file }
        return ProcessInfo.processInfo.environment["HOME"].map { $0 + file.dropFirst() }
    }
}
