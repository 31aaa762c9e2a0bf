import NetproxyConfig

/// The environment of every test, with only a home directory.
let homeOnly = ["HOME": "/home/someone"]

/// Loads a valid configuration.
func load(_ text: String) throws -> ProxyConfiguration {
    try ConfigurationLoader.load(text: text, file: "netproxy.yaml", environment: homeOnly).get()
}

/// Returns the printed errors of a configuration; empty if it is valid.
func errors(in text: String) -> [String] {
    failure(of: text)?.errors.map(\.description) ?? []
}

/// Returns the errors of a configuration; `nil` if it is valid.
func failure(of text: String) -> ConfigurationErrors? {
    switch ConfigurationLoader.load(text: text, file: "netproxy.yaml", environment: homeOnly) {
    case .success: nil
    case .failure(let failure): failure
    }
}

/// Returns the errors of a channel, without file and position.
func errors(inChannel lines: String) -> [String] {
    let indented = lines.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    return errors(in: "channels:\n  a:\n    upstream: https://a.example\n\(indented)\n").map {
        $0.split(separator: " ", maxSplits: 1).dropFirst().joined()
    }
}

/// Returns a valid channel with these keys.
func channel(_ lines: String) throws -> ChannelConfiguration {
    let indented = lines.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    return try load("channels:\n  a:\n    upstream: https://a.example\n\(indented)\n").channels[0]
}
