import NetworkCore

extension NotReplayed {
    /// What it means, and what can be done about it.
    var words: String {
        switch self {
        case .staticCredential:
            """
            the API refused the credential, and there is no other: put one in its place; a file is \
            read again after the next 401, anything else by netproxy reload
            """
        case .foreignChallenge: "the API asks for another scheme than the channel has"
        case .insufficientScope: "the token lacks a scope; add it to auth.oauth.scopes"
        case .invalidRequest: "the API says that the request is at fault, not the token"
        case .stepUpRequired: "the API wants a sign-in with more proof: netproxy login"
        case .proofRefused: "the API refused another DPoP proof as well; is the clock right?"
        case .bodyNotReplayable:
            """
            the content was too long to be kept; the next request has a new token, and \
            retry.replay_body or retry.spill keeps more
            """
        case .replayOff:
            "retry.unauthorized is false, so the app asks again; the next request has a new token"
        case .alreadyReplayed:
            "the API refused a new token, too; are scope, audience and the account right?"
        case .tokenRefusedAgain:
            """
            the API refused two tokens in a row, so none is fetched for 10 s; are scope, audience \
            and the account right?
            """
        case .sameToken: "the token endpoint gave the same token again"
        case .excess: "too many renewals within 30 s; does the API refuse every token?"
        case .refreshFailed: "the token endpoint failed; netproxy token CHANNEL says how"
        case .reauthorizationRequired:
            "somebody must sign in; netproxy token CHANNEL says how"
        case .waitTimeout: "the renewal took longer than the request could wait"
        }
    }
}
