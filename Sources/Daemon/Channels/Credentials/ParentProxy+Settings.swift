package import NetproxyConfig
package import NetproxyEventIO
package import NetworkCore
import OriginTransport

extension ParentProxy {
    /// Creates the proxy that the configuration names.
    ///
    /// - Parameters:
    ///   - settings: the proxy's address and login.
    ///   - password: the value of the login's password, if any.
    ///   - key: the configuration key, for the error.
    /// - Throws: an error that names the key if the password is not valid in a header field.
    package init(_ settings: ProxySettings, _ password: Secret?, for key: String) throws(IOError) {
        let (host, port) = (settings.url.origin.host, settings.url.origin.port)
        guard let login = settings.login, let password else {
            self.init(host: host, port: port)
            return
        }
        do throws(NetworkError) {
            try self.init(
                host: host,
                port: port,
                username: login.username,
                password: password
            )
        } catch {
            throw .system("\(key): \(error.detail)")
        }
    }
}
