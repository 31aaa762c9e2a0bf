import Testing

@testable import NetproxyCommands

/// The advice after a failed sign-in.
@Suite struct SignInFailureTests {
    @Test(
        arguments: [
            ("access_denied", "no", "To try once more, run netproxy login mail again"),
            ("invalid_client", "no", "Check auth.oauth.client_id, client_secret and client_auth"),
            ("unauthorized_client", "no", "Allow the client the authorization code grant"),
            ("invalid_scope", "no", "Check auth.oauth.scopes"),
            ("invalid_target", "no", "Check auth.oauth.audience and auth.oauth.resource"),
            ("invalid_grant", "no", "The code had expired or was used already"),
            ("invalid_request", "no", "authorization_parameters, scopes and redirect_uri"),
            ("login_required", "no", "Remove prompt: none"),
            ("temporarily_unavailable", "no", "The fault is the server's"),
            (
                "invalid_request", "Mismatching redirect URI.",
                "Register http://127.0.0.1:5001/ with the server, or set auth.oauth.redirect_uri"
            ),
            ("redirect_uri_mismatch", "no", "Register http://127.0.0.1:5001/ with the server"),
            (nil, "the tokens cannot be stored", "Return to the terminal"),
        ] as [(String?, String, String)]
    )
    func `each error contains the next step`(code: String?, words: String, advice: String) {
        let failure = SignInFailure(
            words,
            code: code,
            channel: "mail",
            redirect: "http://127.0.0.1:5001/"
        )
        #expect(failure.advice.contains(advice))
        #expect(failure.advice.contains("run netproxy login mail again"))
        #expect(failure.description.hasPrefix(words))
    }
}
