/// Which values are never shown.
public struct Redaction: Sendable, Hashable {
    /// What stands in the place of a value.
    public static let mark = "<redacted>"

    /// Fields whose values are left out.
    public var fields: Set<HTTPFieldName>
    /// Parameters of the query whose values are left out, in lower case.
    public var parameters: Set<String>

    /// Names what is left out.
    public init(fields: Set<HTTPFieldName>, parameters: Set<String>) {
        self.fields = fields
        self.parameters = parameters
    }

    /// What usually carries credentials.
    public static let standard = Redaction(
        fields: [
            .authorization, .proxyAuthorization, .cookie, .setCookie, "DPoP", "X-Api-Key",
            "Api-Key", "X-Auth-Token", "X-Csrf-Token",
        ],
        parameters: [
            "access_token", "refresh_token", "id_token", "token", "client_secret", "api_key",
            "apikey", "key", "password", "code", "code_verifier", "assertion", "client_assertion",
            "sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
        ]
    )

    /// The value of a field as it may be shown.
    public func value(of field: HTTPField) -> String {
        fields.contains(field.name) ? Redaction.mark : field.value
    }

    /// Path and query as they may be shown.
    public func target(_ target: String) -> String {
        let parts = TargetPath(target)
        guard let query = parts.query else { return target }
        let shown = query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let name = pair.prefix { $0 != "=" }
            let isSecret = parameters.contains(PercentEncoding.decoded(name).lowercased())
            return isSecret && name.count < pair.count ? "\(name)=\(Redaction.mark)" : String(pair)
        }
        return "\(parts.path)?\(shown.joined(separator: "&"))"
    }
}
