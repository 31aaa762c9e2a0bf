/// The notation of a credential in a command for curl, with a placeholder for its secret.
package struct CredentialNotation: Sendable {
    /// The header field, unless the channel states another place; `nil` if only the channel knows it.
    package let field: String?
    /// The text before the secret.
    package let prefix: String
    /// The placeholder's noun.
    package let noun: String

    /// `Authorization: Bearer <token …>`.
    package static let token = CredentialNotation(prefix: "Bearer ", noun: "token")

    package init(field: String? = "Authorization", prefix: String, noun: String) {
        self.field = field
        self.prefix = prefix
        self.noun = noun
    }
}
