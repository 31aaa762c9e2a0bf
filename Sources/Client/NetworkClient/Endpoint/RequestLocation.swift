/// The target of a request that is being built: a base URL, and the parts that replace its own.
struct RequestLocation: Sendable {
    private let named: BaseURL
    var basePath: String?
    var scheme: Origin.Scheme?
    var host: (name: String, port: UInt16?)?

    init(baseURL: BaseURL) {
        named = baseURL
    }

    /// The parts that were named, in place of those of another base URL.
    func over(_ baseURL: BaseURL) -> RequestLocation {
        var location = RequestLocation(baseURL: baseURL)
        (location.basePath, location.scheme, location.host) = (basePath, scheme, host)
        return location
    }

    /// The base URL with the parts in place; an invalid one stays as it was written.
    var baseURL: BaseURL {
        guard basePath != nil || scheme != nil || host != nil else { return named }
        let scheme = scheme ?? named.origin?.scheme ?? .https
        guard let authority = authority(scheme) else { return named }
        let path = basePath.map { PercentEncoding.join("", $0) } ?? named.path
        return BaseURL("\(scheme.rawValue)://\(authority)\(path)")
    }

    private func authority(_ scheme: Origin.Scheme) -> String? {
        if let host {
            // Brackets, so that an IPv6 address can be named without.
            let isBare = !host.name.hasPrefix("[")
            let name = isBare ? Authority.bracketed(host.name) : host.name
            return host.port.map { "\(name):\($0)" } ?? name
        }
        guard let origin = named.origin else { return nil }
        let isUsual = origin.port == origin.scheme.defaultPort
        return Origin(scheme: scheme, host: origin.host, port: isUsual ? nil : origin.port)
            .authority
    }
}
