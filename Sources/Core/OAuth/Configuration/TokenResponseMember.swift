/// The members of a token response that a server may put elsewhere, by their names in RFC 6749 §5.
public enum TokenResponseMember: String, Sendable, Hashable, CaseIterable {
    case accessToken = "access_token"
    case tokenType = "token_type"
    case expiresIn = "expires_in"
    case refreshToken = "refresh_token"
    case scope
    case error
    case errorDescription = "error_description"
}

/// The format of the content of token requests.
public enum TokenRequestFormat: String, Sendable, Hashable, CaseIterable {
    /// `application/x-www-form-urlencoded` (RFC 6749 §3.2).
    case form
    /// A JSON object with the same parameters: a text each, or a list of texts for a repeated parameter.
    case json
}
