import NetworkCore

extension NotReplayed {
    /// The meaning of the reason, with advice.
    var explanation: String {
        switch self {
        case .staticCredential:
            """
            the API rejected the credential, and there is no other: replace it; a file is re-read, \
            and a program run again, after the next refusal, a systemd credential (cred:) changes when the \
            service restarts, anything else by netproxy reload
            """
        case .insufficientScope:
            """
            the token lacks a scope: add it to auth.oauth.scopes and sign in again, or configure a \
            refresh token that has it
            """
        case .invalidRequest: "the API says that the request is invalid, not the token"
        case .stepUpRequired: "the API requires stronger authentication: netproxy login"
        case .clockAgrees:
            """
            the API rejected the time of the signature, although its clock agrees with this machine's: \
            the request may have waited too long
            """
        case .proofRefused: "the API rejected a second DPoP proof; check the clock"
        case .bodyNotReplayable:
            """
            the body was too long to keep or did not arrive in full; a larger retry.replay_body or \
            retry.spill keeps more, and the next request has a new token if one was issued
            """
        case .replayOff:
            "retry.unauthorized is false, so the app must retry; a new token was requested"
        case .alreadyReplayed:
            "the API rejected the new token too; check scope, audience and account"
        case .tokenRefusedAgain:
            """
            the API rejected a new token as well, so renewals pause for 10 s, or for up to a minute if \
            it does not say invalid_token; check scope, audience and account
            """
        case .sameToken: "the token endpoint returned the same token again"
        case .excess:
            "too many renewals within 30 s; does the API reject every token, or revoke them?"
        case .refreshFailed: "the renewal failed; see netproxy token CHANNEL"
        case .reauthorizationRequired:
            "sign-in required; see netproxy token CHANNEL"
        case .waitTimeout:
            "the renewal took longer than the request could wait, or too many requests wait already"
        }
    }
}
