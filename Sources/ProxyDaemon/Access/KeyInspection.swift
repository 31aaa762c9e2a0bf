import NetworkCore
import OAuth
package import ProxyConfig

/// What a start would say of the keys that a configuration names, for those who only check it.
package enum KeyInspection {
    /// Reads a key as its user does, and forgets it again.
    package static let judge: ConfigurationChecker.KeyJudge = { resource, bytes in
        let text = Secret(String(decoding: bytes, as: UTF8.self))
        do {
            switch resource {
            case .signingKey: _ = try SigningKey(pem: text)
            case .serviceAccount: _ = try ServiceAccountKey(json: text)
            case .stateKey: _ = try TokenSeal(base64: text)
            default: break
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
