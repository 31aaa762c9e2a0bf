package import NetproxyConfig
package import NetproxyEventIO
package import NetworkCore
import OriginTransport

extension ParentProxy {
    /// The proxy that the configuration names.
    ///
    /// - Parameters:
    ///   - settings: where it is, and as whom it knows us.
    ///   - password: what the settings name, if they do.
    ///   - key: where it stands, for the error.
    /// - Throws: an error that names the key, for a password that no field may hold.
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
