import NetproxyHTTPMessage
import NetproxySettings

/// The place of a channel's credential in a request, and the text before it.
package enum CredentialPlacement: Sendable, Hashable {
    /// A header field; without a prefix, the scheme of the credential's kind applies.
    case header(name: String, prefix: String?)
    case query(name: String, prefix: String)
    /// The marker in the upstream's path.
    case path(prefix: String)

    /// The values of `auth.in`.
    enum Location: String, CaseIterable {
        case header, query, path
    }

    /// The placeholder for the credential in the URL of an upstream.
    package static let marker = "{credential}"

    /// Whether the request target contains the credential.
    package var isInTarget: Bool { fieldName == nil }

    /// The name of the header field; nil for other places.
    package var fieldName: String? {
        if case .header(let name, _) = self { name } else { nil }
    }
}

extension SentHost {
    init?(text: String) {
        switch text {
        case "upstream": self = .upstream
        case "app": self = .app
        default:
            guard let authority = HostText.authority(text) else { return nil }
            self = .name(authority.description)
        }
    }
}
