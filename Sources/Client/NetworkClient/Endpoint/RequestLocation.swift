/// The location of a request under construction: a base URL, and the parts that override it.
struct RequestLocation: Sendable {
    private let named: BaseURL
    var basePath: String?
    var scheme: Origin.Scheme?
    var host: (name: String, port: UInt16?)?

    init(baseURL: BaseURL) {
        named = baseURL
    }

    /// Returns another base URL with the same overriding parts.
    func over(_ baseURL: BaseURL) -> RequestLocation {
        var location = RequestLocation(baseURL: baseURL)
        (location.basePath, location.scheme, location.host) = (basePath, scheme, host)
        return location
    }

    /// The base URL with its overriding parts; an invalid base URL is unchanged.
    var baseURL: BaseURL {
        guard basePath != nil || scheme != nil || host != nil else { return named }
        let scheme = scheme ?? named.origin?.scheme ?? .https
        guard let authority = authority(scheme) else { return named }
        let path = basePath.map { PercentEncoding.join("", $0) } ?? named.path
        return BaseURL("\(scheme.rawValue)://\(authority)\(path)")
    }

    private func authority(_ scheme: Origin.Scheme) -> String? {
        if let host {
            // Add brackets, because an IPv6 address may be set without them.
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
