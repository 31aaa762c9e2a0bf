import FoundationEssentials

/// The values that are never shown.
public struct Redaction: Sendable, Hashable {
    /// The text that replaces a value.
    public static let mark = "<redacted>"

    /// Fields whose values are left out.
    public var fields: Set<HTTPFieldName>
    /// Parameters of the query whose values are left out.
    ///
    /// Case, `_`, `-` and the like do not count, and neither does nesting: `access_token` is `accessToken` and
    /// `login[access-token]`, too.
    public var parameters: Set<String> {
        didSet { words = Redaction.words(parameters) }
    }
    private var words: Set<String>

    /// Names the omitted values.
    public init(fields: Set<HTTPFieldName>, parameters: Set<String>) {
        self.fields = fields
        self.parameters = parameters
        words = Redaction.words(parameters)
    }

    /// What usually carries credentials: parameters by specification (RFC 6750 §2.3, RFC 6749 §2.3.1
    /// and §4, RFC 8628 §3.4, RFC 8693 §2.1, RFC 5849 §3.5.3) or by wide habit.
    public static let standard = Redaction(
        fields: HTTPFieldName.credentials,
        parameters: [
            "access_token", "refresh_token", "id_token", "token", "client_secret",
            "client_assertion", "assertion", "code", "code_verifier", "password", "api_key",
            "apikey", "api-key", "key", "sig", "signature", "x-amz-signature", "x-amz-credential",
            "x-amz-security-token", "x-goog-signature", "device_code", "subject_token",
            "actor_token", "oauth_token", "oauth_signature", "oauth_verifier", "private_token",
            "job_token", "auth_token", "api_token", "secret", "jwt", "passwd", "pwd",
            "subscription-key", "auth", "authorization", "credential", "credentials",
            "session_token", "x-api-key", "secret_key", "access_key", "private_key", "passphrase",
            "new_password", "old_password", "current_password", "bearer", "bearer_token", "otp",
            "totp", "saml_response", "saml_assertion", "csrf_token", "webhook_secret",
        ]
    )

    /// Fields whose value is a URL or has some in it (links to the next page repeat the query),
    /// which may have a credential among their parameters.
    private static let urlFields: Set<HTTPFieldName> = [
        "Referer", "Location", "Content-Location", "Link", "Refresh",
    ]

    /// The value of a field as it may be shown.
    public func value(of field: HTTPField) -> String {
        if hides(field.name) { return Redaction.mark }
        guard Redaction.urlFields.contains(field.name) else { return field.value }
        return target(Redaction.withoutUserInformation(field.value))
    }

    /// A text that should be a URL or an authority and is not, as it may be shown.
    ///
    /// Where its parts end cannot be told, so all in front of the last `@` counts as a password: one
    /// with a `#` in it may be what is wrong.
    package func malformedURL(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let at = scalars.lastIndex(of: "@") else { return target(text) }
        let slashes = scalars[..<at].firstRange(of: "//".unicodeScalars)
        let start = slashes?.upperBound ?? scalars.startIndex
        return target(String(scalars[..<start]) + Redaction.mark + String(scalars[at...]))
    }

    /// URLs without what is in front of the `@` of their authorities: a password, or a token in place
    /// of a name (RFC 3986 §3.2.1).
    private static func withoutUserInformation(_ value: String) -> String {
        guard value.utf8.contains(UInt8(ascii: "@")) else { return value }
        let scalars = value.unicodeScalars
        var text = ""
        var rest = scalars[...]
        while let slashes = rest.firstRange(of: "//".unicodeScalars) {
            let isAuthority =
                slashes.lowerBound == scalars.startIndex
                || scalars[scalars.index(before: slashes.lowerBound)] == ":"
            text += "\(Substring(rest[..<slashes.upperBound]))"
            rest = rest[slashes.upperBound...]
            let authority = rest.prefix { !"/?#<>\" ".unicodeScalars.contains($0) }
            guard isAuthority, let at = authority.lastIndex(of: "@") else { continue }
            text += "\(Redaction.mark)"
            rest = rest[at...]
        }
        return text + Substring(rest)
    }

    /// Path and query, or a whole URL, as they may be shown: without the credentials in the query,
    /// and in the fragment, where OAuth's implicit grant puts them.
    public func target(_ target: String) -> String {
        var text = ""
        // Scalars: a separator with an accent would be another character.
        var rest = Substring(target).unicodeScalars
        var isParameter = false
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != "?" && $0 != "#" && $0 != "&" }
            text += isParameter ? parameter(Substring(piece)) : String(piece)
            rest = rest[piece.endIndex...]
            if let separator = rest.popFirst() {
                text.unicodeScalars.append(separator)
                isParameter = true
            }
        }
        return text
    }

    /// The longest text without a value that counts as a name, in bytes: beyond it may be a token.
    private static let longestFlag = 20

    /// How many bytes of a query's parameter are its name; `nil` where it may be a token that has
    /// none.
    package static func nameLength(of parameter: Span<UInt8>) -> Int? {
        if let equals = parameter.firstIndex(of: UInt8(ascii: "="), from: 0) {
            // At the end of base64 the sign separates nothing.
            let hasValue = (equals..<parameter.count).contains {
                parameter[$0] != UInt8(ascii: "=")
            }
            if hasValue || equals <= longestFlag { return equals }
        }
        return parameter.count <= longestFlag ? parameter.count : nil
    }

    /// A parameter of a query as it may be shown.
    package func parameter(_ text: Substring) -> String {
        guard let equals = firstHidden(in: text.unicodeScalars) else { return String(text) }
        return text[...equals] + Redaction.mark
    }

    /// The position of the equals sign after which a parameter is left out, to its end: HTML 4 has `;`
    /// for `&`, and some servers still do, but a value may have one, too.
    private func firstHidden(
        in parameter: Substring.UnicodeScalarView
    ) -> Substring.UnicodeScalarView.Index? {
        var rest = parameter
        while true {
            let part = rest.prefix { $0 != ";" }
            if let equals = part.firstIndex(of: "="),
                hides(parameter: Substring(part[..<equals]))
            {
                return equals
            }
            guard part.endIndex < rest.endIndex else { return nil }
            rest = rest[rest.index(after: part.endIndex)...]
        }
    }

    /// Whether the value of a field is left out.
    package func hides(_ name: HTTPFieldName) -> Bool { name.isAmong(fields) }

    /// Whether the value of a query parameter is left out.
    ///
    /// `%61ccess_token` is another spelling of `access_token`, which servers decode.
    package func hides(parameter name: Substring) -> Bool {
        let decoded = PercentEncoding.decoded(name)
        return words.contains(Redaction.word(decoded[...]))
            || decoded.split(whereSeparator: { "[].".contains($0) })
                .contains { words.contains(Redaction.word($0)) }
    }

    private static func words(_ parameters: Set<String>) -> Set<String> {
        Set(parameters.map { word($0[...]) })
    }

    private static func word(_ name: Substring) -> String {
        name.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    /// A text without some secrets, also where they stand encoded.
    package static func hiding(
        _ secrets: [Secret],
        in text: String,
        by mark: String = Redaction.mark
    ) -> String {
        secrets.reduce(text) { SecretSearch($1).hiding(in: $0, by: mark) }
    }
}
