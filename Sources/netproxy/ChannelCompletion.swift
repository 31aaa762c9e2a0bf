import ArgumentParser
import ProxyConfig

extension CompletionKind {
    /// The names of the configured channels, while the configuration can be read.
    static var channels: CompletionKind {
        .custom { words, _, _ in
            let file = ConfigurationFile(path: namedFile(words), isService: false)
            guard case .success(let configuration) = file.read(checksFiles: false) else {
                return []
            }
            return configuration.channels.map(\.name)
        }
    }

    /// What stands behind `--config` on the command line so far.
    private static func namedFile(_ words: [String]) -> String? {
        if let option = words.firstIndex(of: "--config") {
            return words[words.index(after: option)...].first
        }
        let prefix = "--config="
        return words.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
