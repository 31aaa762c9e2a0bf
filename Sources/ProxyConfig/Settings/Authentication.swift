/// The credential that a channel adds to requests.
package enum Authentication: Sendable, Hashable {
    case none
    case oauth(OAuthSettings)
    case bearer(SecretReference)
    case basic(username: String, password: SecretReference)
    case header(name: String, value: SecretReference)
    /// The absolute path of a helper that prints a token, and its arguments.
    case exec([String])

    /// The field that the credential stands in; nothing without one.
    package var fieldName: String? {
        switch self {
        case .none: nil
        case .header(let name, _): name
        case .oauth, .bearer, .basic, .exec: "Authorization"
        }
    }
}
