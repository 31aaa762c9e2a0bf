import HTTPMessage

/// Another proxy on the way to a server: where it is, and as whom it knows us.
package struct ProxySettings: Sendable, Hashable {
    /// What a proxy asks for that does not serve everybody.
    package struct Login: Sendable, Hashable {
        package var username: String
        package var password: SecretReference
    }

    /// Plain HTTP, and no path.
    package var url: EndpointURL
    package var login: Login?
}

extension Origin {
    /// What is wrong with sending a credential there, and what helps; nothing if nobody on the way can
    /// read it: over TLS, or without leaving the machine, as it does over a proxy elsewhere.
    func exposure(over proxy: ProxySettings?) -> String? {
        if scheme == .https { return nil }
        guard isLoopback else {
            return "would send credentials over http://, use https:// or set "
                + "auth.allow_insecure: true"
        }
        guard let proxy = proxy?.url.origin, !proxy.isLoopback else { return nil }
        return "would send credentials over http:// to the proxy \(proxy.authority), set "
            + "proxy: off or auth.allow_insecure: true"
    }
}
