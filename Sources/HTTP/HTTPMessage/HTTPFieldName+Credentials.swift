extension HTTPFieldName {
    /// The fields that usually contain credentials, by specification or by common practice.
    package static let credentials: Set<HTTPFieldName> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, .dpop, "X-Api-Key", "Api-Key",
        "Apikey", "X-Apikey", "X-Auth-Token", "X-Csrf-Token", "X-Amz-Security-Token",
        "Authentication-Info", .proxyAuthenticationInfo, "X-Access-Token", "X-Api-Token",
        "X-Auth-Key", "X-Goog-Api-Key", "X-Functions-Key", "Ocp-Apim-Subscription-Key",
        "Private-Token", "Job-Token", "X-Vault-Token", "X-Shopify-Access-Token",
        "X-Session-Token", "X-Authorization", "X-Client-Secret", "X-Refresh-Token", "X-Id-Token",
        "Access-Token", "Refresh-Token", "Id-Token", "X-Token", "Token", "Auth-Token",
        "X-Forwarded-Access-Token", "Cf-Access-Client-Secret", "Cf-Access-Token", "Dd-Api-Key",
        "Dd-Application-Key", "X-Ms-Token-Aad-Access-Token", "X-Ms-Token-Aad-Id-Token",
        "X-Ms-Token-Aad-Refresh-Token", "X-Xsrf-Token", "X-Consul-Token", "X-Gitlab-Token",
        "X-Secret", "X-Secret-Key", "X-Access-Key", "X-Password", "X-Jwt-Assertion",
    ]

    /// Whether the field usually contains a credential.
    package var holdsCredential: Bool { isAmong(HTTPFieldName.credentials) }

    /// Whether the value of the field must not be shown; a name that sounds like a credential is enough.
    package var isConfidential: Bool { holdsCredential || namesCredential }

    /// Whether the name is one of the given fields, in any spelling.
    package func isAmong(_ names: Set<HTTPFieldName>) -> Bool {
        names.contains(self) || names.contains(where: looksLike)
    }
}
