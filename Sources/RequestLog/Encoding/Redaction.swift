import Bytes
package import HTTPMessage

/// What the log never shows, also where the configuration names it.
package struct Redaction: Sendable {
    /// What stands in place of a credential.
    package static let mark: StaticString = "<redacted>"

    private static let credentialFields: Set<HTTPFieldName> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, .dpop, "X-Api-Key", "Api-Key",
        "X-Auth-Token", "X-Amz-Security-Token", "Authentication-Info", .proxyAuthenticationInfo,
    ]

    /// Parameters that carry a credential by specification (RFC 6750 §2.3, RFC 6749 §2.3.1, §4) or
    /// by wide habit.
    private static let credentialParameters: Set<String> = [
        "access_token", "refresh_token", "id_token", "token", "client_secret", "client_assertion",
        "assertion", "code", "code_verifier", "password", "api_key", "apikey", "api-key", "key",
        "sig", "signature", "x-amz-signature", "x-amz-security-token", "x-goog-signature",
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

    /// Whether the value of a query parameter is a credential.
    package func hides(parameter name: String) -> Bool {
        Self.credentialParameters.contains(name.lowercased())
    }
}
