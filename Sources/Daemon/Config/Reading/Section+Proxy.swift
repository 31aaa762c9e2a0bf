import NetproxyHTTPMessage

extension Section {
    /// Reads a proxy: its URL, or a map with the URL, a user name and a password.
    func proxy(_ key: Key) -> ProxySettings? {
        guard !isOff(key), let node = self[key] else { return nil }
        guard node.entries != nil else {
            return proxyURL(node).map { ProxySettings(url: $0) }
        }
        let section = section(key, ProxyKey.self)
        if section[.url] == nil { section.require(.url) }
        let (username, password) = (section.username(.username), section.secret(.password))
        if (section[.username] == nil) != (section[.password] == nil) {
            section.require(section[.username] == nil ? .username : .password)
        }
        guard let url = section[.url].flatMap(proxyURL) else { return nil }
        guard let username, let password else { return ProxySettings(url: url) }
        return ProxySettings(url: url, login: .init(username: username, password: password))
    }

    private func proxyURL(_ node: ConfigNode) -> EndpointURL? {
        guard let url = reading.url(node, EndpointURL.init(text:)) else { return nil }
        guard url.origin.scheme == .http, url.target == "/" else {
            reading.report("expected a proxy such as http://proxy.example.com:3128", at: node)
            return nil
        }
        return url
    }
}
