import NetworkCore

extension UpstreamOptions {
    /// Refuses what makes no sense where it is said, and not at the first request: a version that is
    /// none would be a weaker one than was meant, and a pin that is none would refuse every server.
    ///
    /// - Throws: `proxy_internal_error` that names the option, what it expects and what it found.
    func check() throws(NetworkError) {
        guard ["1.2", "1.3"].contains(minimumTLSVersion) else {
            throw UpstreamOptions.unusable("minimumTLSVersion", "1.2 or 1.3", minimumTLSVersion)
        }
        for pin in pins where !UpstreamOptions.isPin(pin) {
            throw UpstreamOptions.unusable("pins", "sha256/ and the base64 of 32 bytes", pin)
        }
        guard (certificate == nil) == (certificateKey == nil) else {
            let missing = certificate == nil ? "certificate" : "certificateKey"
            throw UpstreamOptions.unusable(missing, "the file that goes with the other", "nothing")
        }
        guard connections >= 1 else {
            throw UpstreamOptions.unusable("connections", "at least 1", "\(connections)")
        }
    }

    /// In the one spelling that pins of certificates are compared in.
    private static func isPin(_ text: String) -> Bool {
        let prefix = "sha256/"
        guard text.hasPrefix(prefix) else { return false }
        let digest = String(text.dropFirst(prefix.count))
        guard let bytes = Base64.decode(digest) else { return false }
        return bytes.count == 32 && Base64.encode(bytes) == digest
    }

    private static func unusable(
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
