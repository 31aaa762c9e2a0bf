import NetworkCore

extension NotReplayed {
    /// What it means, and what to do about it.
    var explanation: String {
        switch self {
        case .staticCredential:
            """
            the API rejected the credential, and there is no other: replace it; a file is re-read \
            after the next 401, anything else by netproxy reload
            """
        case .foreignChallenge:
            "the API requires another authentication scheme than the channel uses"
        case .insufficientScope: "the token lacks a scope; add it to auth.oauth.scopes"
        case .invalidRequest: "the API says that the request is invalid, not the token"
        case .stepUpRequired: "the API requires stronger authentication: netproxy login"
        case .proofRefused: "the API rejected a second DPoP proof; check the clock"
        case .bodyNotReplayable:
            """
            the body was too long to keep; the next request has a new token, and a larger \
            retry.replay_body or retry.spill keeps more
            """
        case .replayOff:
            "retry.unauthorized is false, so the app must retry; the next request has a new token"
        case .alreadyReplayed:
            "the API rejected the new token too; check scope, audience and account"
        case .tokenRefusedAgain:
            """
            the API rejected two tokens in a row, so none is fetched for 10 s; check scope, audience \
            and account
            """
        case .sameToken: "the token endpoint returned the same token again"
        case .excess: "too many renewals within 30 s; does the API reject every token?"
        case .refreshFailed: "the token endpoint failed; see netproxy token CHANNEL"
        case .reauthorizationRequired:
            "sign-in required; see netproxy token CHANNEL"
        case .waitTimeout: "the renewal took longer than the request could wait"
        }
    }
}
