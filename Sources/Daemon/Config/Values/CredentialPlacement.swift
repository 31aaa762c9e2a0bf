import NetproxyHTTPMessage

/// The place of a channel's credential in a request, and the text in front of it.
package enum CredentialPlacement: Sendable, Hashable {
    /// A header field; without a prefix, the scheme of the credential's kind stands in front.
    case header(name: String, prefix: String?)
    case query(name: String, prefix: String)
    /// In place of the marker in the upstream's path.
    case path(prefix: String)

    /// The words of `auth.in`.
    enum Location: String, CaseIterable {
        case header, query, path
    }

    /// Stands for the credential in the URL of an upstream.
    package static let marker = "{credential}"

    /// The name of the header field, if it is one.
    package var fieldName: String? {
        if case .header(let name, _) = self { name } else { nil }
    }
}

/// The `Host` that a channel's upstream gets.
package enum SentHost: Sendable, Hashable {
    /// The upstream's own authority.
    case upstream
    /// The one that the app sent.
    case app
    case name(String)

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
