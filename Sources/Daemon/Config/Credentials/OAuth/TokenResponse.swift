/// The places of the members of a token response.
struct TokenResponseKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ access_token: /data/token }"

    let accessToken = Key("access_token", .pointer)
    let tokenType = Key("token_type", .pointer)
    let expiresIn = Key("expires_in", .pointer)
    let refreshToken = Key("refresh_token", .pointer)
    let scope = Key("scope", .pointer)
    let error = Key("error", .pointer)
    let errorDescription = Key("error_description", .pointer)
}

extension OAuthSettings {
    /// Returns the JSON pointers by the names of the members.
    static func pointers(_ section: Section<TokenResponseKeys>) -> [String: String] {
        let keys = TokenResponseKeys.table.keys
        let declared = [
            keys.accessToken, keys.tokenType, keys.expiresIn, keys.refreshToken, keys.scope,
            keys.error, keys.errorDescription,
        ]
        return declared.reduce(into: [:]) { $0[$1.name] = section[$1] }
    }
}

extension Form<String> {
    /// A JSON pointer (RFC 6901).
    fileprivate static var pointer: Form {
        text("a JSON pointer such as /data/token") { text in
            text.hasPrefix("/")
                && text.split(separator: "~", omittingEmptySubsequences: false).dropFirst()
                    .allSatisfy { $0.hasPrefix("0") || $0.hasPrefix("1") }
        }
    }
}
