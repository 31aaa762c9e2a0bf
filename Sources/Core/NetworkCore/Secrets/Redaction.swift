import FoundationEssentials

/// The names of the fields and parameters whose values are redacted.
public struct Redaction: Sendable, Hashable {
    /// The text that replaces a value.
    public static let mark = "<redacted>"

    /// The fields whose values are redacted.
    public var fields: Set<HTTPFieldName>
    /// The query parameters whose values are redacted.
    ///
    /// Names match regardless of case, punctuation such as `_` and `-`, and nesting: `access_token` also
    /// matches
    /// `accessToken` and `login[access-token]`.
    public var parameters: Set<String> {
        didSet { words = Redaction.words(parameters) }
    }
    private var words: Set<String>

    /// Creates a redaction of these fields and parameters.
    public init(fields: Set<HTTPFieldName>, parameters: Set<String>) {
        self.fields = fields
        self.parameters = parameters
        words = Redaction.words(parameters)
    }

    /// The usual names of credentials.
    ///
    /// The parameters come from specifications (RFC 6750 §2.3, RFC 6749 §2.3.1 and §4, RFC 8628 §3.4, RFC
    /// 8693 §2.1,
    /// RFC 5849 §3.5.3) or common practice.
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

    /// The fields whose value is a URL or contains URLs, which may have a credential among their parameters.
    ///
    /// Links to the next page, for example, repeat the query.
    private static let urlFields: Set<HTTPFieldName> = [
        "Referer", "Location", "Content-Location", "Link", "Refresh",
    ]

    /// Returns the redacted value of a field.
    public func value(of field: HTTPField) -> String {
        if hides(field.name) { return Redaction.mark }
        guard Redaction.urlFields.contains(field.name) else {
            return Redaction.withoutTokens(field.value)
        }
        return Redaction.withoutTokens(target(Redaction.withoutUserInformation(field.value)))
    }

    /// Returns the redacted form of an invalid URL or authority.
    ///
    /// The parts of such a text are ambiguous, so everything before the last `@` counts as a password; the
    /// error may
    /// be a `#` in the password.
    package func malformedURL(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let at = scalars.lastIndex(of: "@") else { return target(text) }
        let slashes = scalars[..<at].firstRange(of: "//".unicodeScalars)
        let start = slashes?.upperBound ?? scalars.startIndex
        return target(String(scalars[..<start]) + Redaction.mark + String(scalars[at...]))
    }

    /// Returns URLs without the user information before the `@`: a password, or a token as the name (RFC 3986
    /// §3.2.1).
    static func withoutUserInformation(
        _ value: String,
        where isHidden: (_ information: Substring) -> Bool = { _ in true }
    ) -> String {
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
            guard isAuthority, let at = authority.lastIndex(of: "@"),
                isHidden(Substring(authority[..<at]))
            else { continue }
            text += "\(Redaction.mark)"
            rest = rest[at...]
        }
        return text + Substring(rest)
    }

    /// Returns the redacted form of a path and query or of a URL.
    ///
    /// Redacts the credentials in the query, and in the fragment, which OAuth's implicit grant uses.
    public func target(_ target: String) -> String {
        var text = ""
        // Use scalars, because a separator with an accent would be another character.
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

    /// The maximum length of a parameter without a value that counts as a name, in bytes; a longer one may be
    /// a token.
    private static let longestFlag = 20

    /// Returns the length of a query parameter's name, in bytes; `nil` if the text may be a token without a
    /// name.
    package static func nameLength(of parameter: Span<UInt8>) -> Int? {
        if let equals = parameter.firstIndex(of: UInt8(ascii: "="), from: 0) {
            // An equals sign at the end of base64 is not a separator.
            let hasValue = (equals..<parameter.count).contains {
                parameter[$0] != UInt8(ascii: "=")
            }
            if hasValue || equals <= longestFlag { return equals }
        }
        return parameter.count <= longestFlag ? parameter.count : nil
    }

    /// Returns the redacted form of a query parameter.
    package func parameter(_ text: Substring) -> String {
        guard let equals = firstHidden(in: text.unicodeScalars) else { return String(text) }
        return text[...equals] + Redaction.mark
    }

    /// Returns the position of the equals sign after which a parameter is redacted to its end.
    ///
    /// Some servers still accept `;` as a separator, as in HTML 4, but a value may contain one, too.
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

    /// Whether the value of a field is redacted.
    package func hides(_ name: HTTPFieldName) -> Bool {
        name.isConfidential || name.isAmong(fields)
    }

    /// Whether the value of a query parameter is redacted.
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

    /// Returns a text without some secrets, including their encoded forms.
    package static func hiding(
        _ secrets: [Secret],
        in text: String,
        by mark: String = Redaction.mark
    ) -> String {
        SecretSearch.hiding(secrets, in: text, by: mark)
    }
}
