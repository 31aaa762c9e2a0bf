import OAuth

/// The reason for a failed sign-in, with advice.
struct SignInFailure: Sendable, Equatable {
    /// One clause, without secrets.
    let words: String
    /// One sentence.
    let advice: String
    /// The server's `error` code, if it sent one.
    let code: String?

    /// Describes a failure.
    ///
    /// - Parameters:
    ///   - words: one clause, without secrets.
    ///   - code: the server's `error` code (RFC 6749 §4.1.2.1 and §5.2, OpenID Connect Core §3.1.2.6), if it
    ///     sent one.
    ///   - channel: the channel to sign in to.
    ///   - redirect: the redirect URI of the sign-in.
    init(_ words: String, code: String?, channel: String, redirect: String) {
        self.words = words
        self.code = code
        let again = "run netproxy login \(channel) again"
        let isAboutRedirect =
            code == "redirect_uri_mismatch"
            || ["redirect_uri", "redirect uri", "redirect url"].contains {
                words.lowercased().contains($0)
            }
        guard !isAboutRedirect else {
            advice =
                "Register \(redirect) with the server, or set auth.oauth.redirect_uri to the URI that is "
                + "registered; then \(again)."
            return
        }
        advice =
            switch code {
            case "access_denied":
                "Consent was refused, by the person or by the server's rules. To try once more, "
                    + "\(again)."
            case "invalid_client":
                "Check auth.oauth.client_id, client_secret and client_auth of the channel; then "
                    + "\(again)."
            case "unauthorized_client", "unsupported_response_type", "unsupported_grant_type":
                "Allow the client the authorization code grant at the server, or check "
                    + "auth.oauth.client_id; then \(again)."
            case "invalid_scope":
                "Check auth.oauth.scopes: the server does not know one of them, or does not give it to "
                    + "this client; then \(again)."
            case "invalid_target":
                "Check auth.oauth.audience and auth.oauth.resource; then \(again)."
            case "invalid_grant":
                "The code had expired or was used already: \(again), and sign in without a long pause."
            case "invalid_request", "invalid_request_object", "request_not_supported":
                "Check auth.oauth.authorization_parameters, scopes and redirect_uri; then \(again)."
            case "login_required", "interaction_required", "consent_required",
                "account_selection_required":
                "Remove prompt: none from auth.oauth.authorization_parameters; then \(again)."
            case "server_error", "temporarily_unavailable":
                "The fault is the server's: wait a moment, then \(again)."
            default: "Return to the terminal, and \(again) when the cause is removed."
            }
    }

    /// The clause and the sentence, for the terminal.
    var description: String {
        "\(words)\n\(advice)"
    }
}
