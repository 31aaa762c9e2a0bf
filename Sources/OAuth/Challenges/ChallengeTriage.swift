import NetworkCore

/// What a 401 says about the token that the request carried.
enum ChallengeTriage: Equatable {
    /// `invalid_token`: it is bad.
    case refused
    /// Not the token but the proof that went with it is at fault (RFC 9449 §7.1, §9).
    case proofRefused
    /// Nothing in particular: it may be bad.
    case suspected
    /// Another token of the same kind would not help.
    case passThrough(NotReplayed)

    /// Judges the challenges of a response.
    ///
    /// An `error` that RFC 6750 does not know counts as suspicion: servers invent words for
    /// "expired", and the cool-down bounds what a wrong guess costs.
    ///
    /// - Parameters:
    ///   - headers: of the response.
    ///   - scheme: that of the token; `Bearer` counts beside any other.
    ///   - isBound: whether a proof of possession went with the token: `DPoP` is its scheme then,
    ///     and `Bearer` that of an API which takes both.
    /// - Returns: what weighs most of what they say.
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
        let weighty: [ChallengeTriage] = [.refused, .proofRefused, .suspected]
        return weighty.first(where: verdicts.contains) ?? verdicts[0]
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
