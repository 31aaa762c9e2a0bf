import NetproxyHTTPMessage

/// Another proxy on the way to a server.
package struct ProxySettings: Sendable, Hashable {
    /// The credentials of a proxy that requires authentication.
    package struct Login: Sendable, Hashable {
        package var username: String
        package var password: SecretReference
    }

    /// An `http://` URL without a path.
    package var url: EndpointURL
    package var login: Login?
}

extension Origin {
    /// Returns the exposure of a credential on the way to the origin, with the fix.
    ///
    /// Nil if the credential is not exposed: over TLS, or if the connection does not leave this machine.
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
