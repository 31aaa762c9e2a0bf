import NetworkCore

/// Extracts the key from `Proxy-Authorization` or `Authorization`: `Bearer KEY`, or Basic with KEY as the
/// password.
enum PresentedKey {
    static func key(in value: String) -> String? {
        let bytes = value.utf8
        // No scheme is longer: a value may have thousands of bytes, and no space.
        guard let space = bytes.prefix(7).firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let text = Substring(bytes[bytes.index(after: space)...].drop { $0 == UInt8(ascii: " ") })
        switch value[..<space].lowercased() {
        case "bearer": return String(text)
        case "basic":
            guard let pair = Base64.decode(String(text)),
                let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return String(decoding: pair[(colon + 1)...], as: UTF8.self)
        default: return nil
        }
    }
}
