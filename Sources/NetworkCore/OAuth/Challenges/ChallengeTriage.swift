/// What a 401 says about the bearer token that the request carried.
enum ChallengeTriage: Equatable {
    /// `invalid_token`: it is bad.
    case refused
    /// Nothing in particular: it may be bad.
    case suspected
    /// Another token of the same kind would not help.
    case passThrough(NotReplayed)

    /// Judges the challenges of a response.
    ///
    /// An `error` that RFC 6750 does not know counts as suspicion: servers invent words for
    /// "expired", and the cool-down bounds what a wrong guess costs.
    static func judge(_ headers: HTTPHeaders) -> ChallengeTriage {
        let challenges = ChallengeParser.challenges(in: headers)
        let bearer = challenges.filter { $0.scheme == "bearer" }
        guard !bearer.isEmpty else {
            return challenges.isEmpty ? .suspected : .passThrough(.foreignChallenge)
        }
        let verdicts = bearer.map { judge($0.parameters["error"]) }
        return verdicts.first { $0 == .refused } ?? verdicts.first { $0 == .suspected }
            ?? verdicts[0]
    }

    private static func judge(_ error: String?) -> ChallengeTriage {
        switch error {
        case "invalid_token": .refused
        case "insufficient_scope": .passThrough(.insufficientScope)
        case "invalid_request": .passThrough(.invalidRequest)
        case "insufficient_user_authentication": .passThrough(.stepUpRequired)
        default: .suspected
        }
    }
}
