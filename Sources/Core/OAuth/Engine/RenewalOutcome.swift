import NetworkCore

/// The end of a renewal, the same for every request that waited for it.
enum RenewalOutcome: Sendable, Equatable {
    case credential(Credential)
    /// The token endpoint returned the refused token again.
    case sameToken
    /// The first request with the new token was refused as well.
    case refusedAgain
    case failed(OAuthFailure)
    case dead(OAuthFailure)
    /// There is neither a token nor a refusal: the request starts over.
    case startOver
}

extension NotReplayed {
    /// The reason for passing a 401 through after a failed renewal.
    init(_ failure: OAuthFailure) {
        self = failure.kind == OAuthFailure.excess ? .excess : .refreshFailed
    }
}
