import ProxyConfig

/// The environment of every test: somebody with a home directory and nothing else.
let someone = ["HOME": "/home/someone"]

/// Loads a text that is meant to be right.
func load(_ text: String) throws -> ProxyConfiguration {
    try ConfigurationLoader.load(text: text, file: "netproxy.yaml", environment: someone).get()
}

/// The lines that a text leads to; none when it is right.
func errors(in text: String) -> [String] {
    failure(of: text)?.errors.map(\.description) ?? []
}

/// What a text that is wrong leads to; nil when it is right.
func failure(of text: String) -> ConfigurationErrors? {
    switch ConfigurationLoader.load(text: text, file: "netproxy.yaml", environment: someone) {
    case .success: nil
    case .failure(let failure): failure
    }
}

/// The errors of one channel, without file and position.
func errors(inChannel lines: String) -> [String] {
    let indented = lines.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    return errors(in: "channels:\n  a:\n    upstream: https://a.example\n\(indented)\n").map {
        $0.split(separator: " ", maxSplits: 1).dropFirst().joined()
    }
}

/// A channel with more keys.
func channel(_ lines: String) throws -> ChannelConfiguration {
    let indented = lines.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    return try load("channels:\n  a:\n    upstream: https://a.example\n\(indented)\n").channels[0]
}
