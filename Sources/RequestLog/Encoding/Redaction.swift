import Bytes
package import HTTPMessage

/// What the log never shows, also where the configuration names it.
package struct Redaction: Sendable {
    /// What stands in place of a credential.
    package static let mark: StaticString = "<redacted>"

    private static let credentialFields: Set<HTTPFieldName> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, .dpop, "X-Api-Key", "Api-Key",
        "X-Auth-Token", "X-Amz-Security-Token", "Authentication-Info", .proxyAuthenticationInfo,
        "X-Access-Token", "X-Api-Token", "X-Auth-Key", "X-Goog-Api-Key", "X-Functions-Key",
        "Ocp-Apim-Subscription-Key", "Private-Token", "Job-Token", "X-Vault-Token",
        "X-Shopify-Access-Token",
    ]

    /// Parameters that carry a credential by specification (RFC 6750 §2.3, RFC 6749 §2.3.1, §4,
    /// RFC 8628 §3.4, RFC 8693 §2.1, RFC 5849 §3.5.3) or by wide habit.
    private static let credentialParameters: Set<String> = [
        "access_token", "refresh_token", "id_token", "token", "client_secret", "client_assertion",
        "assertion", "code", "code_verifier", "password", "api_key", "apikey", "api-key", "key",
        "sig", "signature", "x-amz-signature", "x-amz-security-token", "x-goog-signature",
        "device_code", "subject_token", "actor_token", "oauth_token", "oauth_signature",
        "oauth_verifier", "private_token", "job_token", "auth_token", "api_token", "secret", "jwt",
        "passwd", "pwd", "subscription-key",
    ]

    /// Fields whose value is a URL or has some in it (links to the next page repeat the query),
    /// which may have a credential among their parameters.
    private static let urlFields: Set<HTTPFieldName> = [
        "Referer", "Location", "Content-Location", "Link", "Refresh",
    ]

    private let channelField: HTTPFieldName?

    /// Adds the channel's own credential field to the well-known ones.
    package init(channelField: HTTPFieldName?) {
        self.channelField = channelField
    }

    /// Whether the field's value is a credential.
    package func hides(_ name: HTTPFieldName) -> Bool {
        name == channelField || Self.credentialFields.contains(name)
    }

    /// What is shown of a field's value, unless `hides` has it hidden.
    package func shown(_ field: HTTPField) -> String {
        guard Self.urlFields.contains(field.name) else { return field.value }
        return redacted(url: Self.withoutUserInformation(field.value))
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

    /// A URL without the credentials in its query, and in its fragment, where OAuth's implicit grant
    /// puts them.
    private func redacted(url: String) -> String {
        var text = ""
        // Scalars: as a character, a separator with an accent is none.
        var rest = Substring(url).unicodeScalars
        var isParameter = false
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != "?" && $0 != "#" && $0 != "&" }
            if isParameter, let equals = piece.firstIndex(of: "="),
                hides(parameter: String(piece[..<equals]))
            {
                text += "\(Substring(piece[...equals]))\(Redaction.mark)"
            } else {
                text += Substring(piece)
            }
            rest = rest[piece.endIndex...]
            if let separator = rest.popFirst() {
                text.unicodeScalars.append(separator)
                isParameter = true
            }
        }
        return text
    }

    /// Whether the value of a query parameter is a credential.
    ///
    /// `%61ccess_token` is another spelling of `access_token`, which servers decode.
    package func hides(parameter name: String) -> Bool {
        let plain = name.utf8.contains(UInt8(ascii: "%")) ? Self.decoded(name) : name
        return Self.credentialParameters.contains(plain.lowercased())
    }

    private static func decoded(_ name: String) -> String {
        let source = Array(name.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
                let high = Grammar.hexValue(source[index + 1]),
                let low = Grammar.hexValue(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
