/// The credential that a channel adds to requests.
package enum Authentication: Sendable, Hashable {
    case none
    case oauth(OAuthSettings)
    case bearer(SecretReference)
    case basic(username: String, password: SecretReference)
    case header(name: String, value: SecretReference)
    /// A helper program that prints a token: its absolute path and arguments.
    case exec([String])

    /// The name of the header field with the credential; nil without one.
    package var fieldName: String? {
        switch self {
        case .none: nil
        case .header(let name, _): name
        case .oauth, .bearer, .basic, .exec: "Authorization"
        }
    }
}
