import NetworkCore
import OAuth
package import ProxyConfig

/// Checks the keys that a configuration names, as a start would.
package enum KeyValidator {
    /// Parses a key; returns what is wrong with it.
    package static let validate: ConfigurationChecker.KeyJudge = { resource, bytes in
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
