import NetproxyConfig
import NetproxyHTTPMessage
import OAuth

/// Advice for a sign-in whose response has no refresh token.
///
/// Most servers issue one only on request, and each requires its own parameter or scope.
enum RefreshTokenAdvice {
    private static let offline =
        "set auth.oauth.authorization_parameters: { access_type: offline, prompt: consent }"
    private static let scope = "add offline_access to auth.oauth.scopes"

    /// The known providers, by the suffix of their host names.
    private static let providers: [(host: String, name: String, advice: String)] = [
        ("accounts.google.com", "Google", offline),
        ("accounts.zoho.com", "Zoho", offline), ("accounts.zoho.eu", "Zoho", offline),
        (
            "dropbox.com", "Dropbox",
            "set auth.oauth.authorization_parameters: { token_access_type: offline }"
        ),
        (
            "reddit.com", "Reddit",
            "set auth.oauth.authorization_parameters: { duration: permanent }"
        ),
        ("login.microsoftonline.com", "Microsoft", scope), ("login.live.com", "Microsoft", scope),
        ("ciamlogin.com", "Microsoft", scope), ("b2clogin.com", "Microsoft", scope),
        ("auth0.com", "Auth0", "\(scope), and allow offline access for the API"),
        ("okta.com", "Okta", "\(scope), and allow the grant refresh_token for the client"),
        ("atlassian.com", "Atlassian", scope), ("xero.com", "Xero", scope),
        ("x.com", "X", "add offline.access to auth.oauth.scopes"),
        ("twitter.com", "X", "add offline.access to auth.oauth.scopes"),
        ("salesforce.com", "Salesforce", "add refresh_token to auth.oauth.scopes"),
        ("slack.com", "Slack", "turn token rotation on in the settings of the Slack app"),
        ("github.com", "GitHub", "turn expiring user tokens on in the settings of the GitHub App"),
    ]

    /// Returns a sentence for the user.
    static func words(for settings: OAuthSettings) -> String {
        let urls = [settings.authorizationURL, settings.tokenURL].compactMap { $0?.origin.host }
        let hosts =
            urls
            + [settings.issuer.flatMap { ServerEndpoint($0)?.origin.host }]
            .compactMap { $0?.lowercased() }
        let known = providers.first { provider in
            hosts.contains { $0 == provider.host || $0.hasSuffix(".\(provider.host)") }
        }
        guard let known else {
            return
                "To be issued one, many servers want the scope offline_access, or a parameter of the "
                + "sign-in page (auth.oauth.authorization_parameters); see the server's documentation."
        }
        return "To be issued one by \(known.name), \(known.advice), and sign in again."
    }
}
