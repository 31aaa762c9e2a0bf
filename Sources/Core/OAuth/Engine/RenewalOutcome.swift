import NetworkCore

/// How a renewal ended; every request that waited for it learns the same.
enum RenewalOutcome: Sendable, Equatable {
    case credential(Credential)
    /// The token endpoint returned the very token that was refused.
    case sameToken
    /// The first request with the new token was refused as well.
    case refusedAgain
    case failed(OAuthFailure)
    case dead(OAuthFailure)
    /// There is no token to hand out, and no reason to refuse one: ask again.
    case askAgain
}

extension NotReplayed {
    /// Why a 401 is passed through after a failed renewal.
    init(_ failure: OAuthFailure) {
        self = failure.kind == OAuthFailure.excess ? .excess : .refreshFailed
    }
}
