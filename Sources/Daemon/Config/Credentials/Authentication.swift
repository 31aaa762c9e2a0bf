/// The credential that a channel adds to requests.
package enum Authentication: Sendable, Hashable {
    case none
    case oauth(OAuthSettings)
    case bearer(SecretReference)
    case basic(username: String, password: SecretReference)
    case header(name: String, value: SecretReference)
    /// A helper program that prints a token: its absolute path and arguments.
    case exec([String])
    /// AWS keys that sign each request.
    case aws(AWSSettings)
    /// A token that netproxy signs.
    case jwt(JWTSettings)
    /// A key that signs each request.
    case hmac(HMACSettings)
}
