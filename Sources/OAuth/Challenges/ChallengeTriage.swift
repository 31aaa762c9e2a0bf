import NetworkCore

/// What the challenges of a 401 say about the token that the request carried.
enum ChallengeTriage: Equatable {
    /// `invalid_token`: the token is not valid.
    case refused
    /// The proof was refused, not the token (RFC 9449 §7.1, §9).
    case proofRefused
    /// Nothing specific: the token may be invalid.
    case suspected
    /// Another token of the same kind would not help.
    case passThrough(NotReplayed)

    /// Judges the challenges of a response.
    ///
    /// An `error` that RFC 6750 does not define counts as suspicion: servers invent words for "expired",
    /// and the cool-down limits the cost of a wrong guess.
    ///
    /// - Parameters:
    ///   - headers: the fields of the response.
    ///   - scheme: the token's scheme; challenges for `Bearer` always count.
    ///   - isBound: whether a proof of possession went with the token: then `DPoP` counts, too.
    /// - Returns: the gravest of the judgements.
    static func judge(
        _ headers: HTTPHeaders,
        scheme: String = "Bearer",
        isBound: Bool = false
    ) -> ChallengeTriage {
        let challenges = ChallengeParser.challenges(in: headers)
        let names: Set = ["bearer", scheme.lowercased()]
        let ours = challenges.filter { challenge in
            names.contains(challenge.scheme) || (isBound && challenge.scheme == "dpop")
        }
        guard !ours.isEmpty else {
            return challenges.isEmpty ? .suspected : .passThrough(.foreignChallenge)
        }
        let verdicts = ours.map { judge($0.parameters["error"], isBound) }
        let gravest: [ChallengeTriage] = [.refused, .proofRefused, .suspected]
        return gravest.first(where: verdicts.contains) ?? verdicts[0]
    }

    private static func judge(_ error: String?, _ isBound: Bool) -> ChallengeTriage {
        switch error {
        case "invalid_token": .refused
        case _ where isBound && ProofOfPossession.isAtFault(error): .proofRefused
        case "insufficient_scope": .passThrough(.insufficientScope)
        case "invalid_request": .passThrough(.invalidRequest)
        case "insufficient_user_authentication": .passThrough(.stepUpRequired)
        default: .suspected
        }
    }
}
