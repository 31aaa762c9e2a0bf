import NetworkCore

extension UpstreamOptions {
    /// Refuses what makes no sense where it is said, and not at the first request.
    ///
    /// - Throws: `proxy_internal_error` that names the option, what it expects and what it found.
    func check() throws(NetworkError) {
        guard (certificate == nil) == (certificateKey == nil) else {
            let missing = certificate == nil ? "certificate" : "certificateKey"
            throw UpstreamOptions.unusable(missing, "the file that goes with the other", "nothing")
        }
        guard connections >= 1 else {
            throw UpstreamOptions.unusable("connections", "at least 1", "\(connections)")
        }
    }

    static func unusable(
        _ option: String,
        _ expected: String,
        _ found: String
    ) -> NetworkError {
        NetworkError(
            .proxyInternalError,
            side: .proxy,
            detail: "UpstreamOptions.\(option): expected \(expected), found '\(found)'"
        )
    }
}
