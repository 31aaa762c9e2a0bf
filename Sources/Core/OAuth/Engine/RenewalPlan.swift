import NetworkCore

/// Decides, as a value, on the next step after a refused token request: whether the grant is presented
/// again, and with which change.
///
/// All rules are in one table, see <doc:TokenEngine#A-token-request-is-refused>. The first remedy that may
/// help against the refusal and is not used up is applied. `TokenRenewal` performs the steps, and
/// `TokenEndpointClient` those of ``Remedy/ofRequest`` for callers that present a grant themselves.
struct RenewalPlan: Equatable {
    /// A change that may turn a refused request into a successful one, in the order of preference.
    enum Remedy: String, CaseIterable {
        /// Another proof of possession, with the nonce from the response (RFC 9449 §8).
        ///
        /// Once for each secret.
        case newProof = "new proof"
        /// The client's secret as it is stored now.
        ///
        /// Once in a presentation.
        case newSecret = "new secret"
        /// The same grant, made or signed again: with the nonce from the response, or at the server's time.
        ///
        /// Once in a renewal.
        case newSignature = "new signature"
        /// The same refresh token after a lost response, which many servers repeat with the same
        /// tokens.
        ///
        /// Once in a renewal.
        case repetition
        /// Another refresh token, stored by another process.
        ///
        /// Once in a renewal.
        case otherToken = "other token"

        /// The remedies that change the request and not the grant.
        static let ofRequest: Set<Remedy> = [.newProof, .newSecret]
    }

    /// Whether the outcome of each earlier presentation of the refresh token is known.
    enum History: String, CaseIterable {
        case known
        /// An earlier response was lost, so the server may have replaced the refresh token.
        case open
    }

    /// The next action of the performer.
    enum NextAction: Equatable {
        /// Send the request again with the same grant.
        case send
        /// Read the client's secret. Send the request again with a new one; without one, call `next` again.
        case sendWithNewSecret
        /// Present the configured grant or the stored token: make the grant and announce it first.
        case present
        /// Remove the note of the presentation, unless an earlier one is open. Then present.
        case retractAndPresent
        /// Read the store. Present another refresh token; without one, call `next` again.
        case presentOtherToken
        case end(Ending)
    }

    /// The end of a refused renewal.
    enum Ending: Equatable {
        /// Renewals pause; the note of the presentation is removed, since the grant was not spent.
        case pauseAndRetract
        /// Renewals pause; the note stays, since the outcome of a presentation is unknown.
        case pause
        /// The refresh token is not accepted any more; `History` tells whether a lost response may be the
        /// reason.
        case death(History)
    }

    private let allowed: Set<Remedy>
    private(set) var used: Set<Remedy> = []
    private(set) var history = History.known

    /// Begins a plan.
    ///
    /// - Parameter allowed: the remedies that its performer can apply.
    init(_ allowed: Set<Remedy> = Set(Remedy.allCases)) {
        self.allowed = allowed
    }

    /// Begins a presentation: the remedies of the request are available again.
    mutating func present(_ history: History) {
        self.history = history
        used.subtract(Remedy.ofRequest)
    }

    /// Returns the next step after a refusal.
    mutating func next(after refusal: Refusal) -> NextAction {
        let remedy = Remedy.allCases.first {
            refusal.remedies.contains($0) && allowed.contains($0) && !used.contains($0)
        }
        guard let remedy else { return .end(ending(after: refusal)) }
        used.insert(remedy)
        switch remedy {
        case .newProof: return .send
        case .newSecret:
            used.remove(.newProof)
            return .sendWithNewSecret
        case .newSignature: return .retractAndPresent
        case .repetition: return .present
        case .otherToken: return .presentOtherToken
        }
    }

    private func ending(after refusal: Refusal) -> Ending {
        if refusal.effect == .tokenRefused {
            return .death(used.contains(.repetition) ? .open : history)
        }
        return refusal.effect == .notSpent && history == .known ? .pauseAndRetract : .pause
    }
}

extension RenewalPlan {
    /// A refused token request, reduced to the facts that the plan decides by.
    struct Refusal: Equatable {
        /// The effect of the refusal on the presented grant.
        enum Effect: String, CaseIterable {
            /// The server did not spend the grant.
            case notSpent = "not spent"
            /// The server may have spent the grant.
            case mayBeSpent = "may be spent"
            /// The server does not accept the refresh token any more.
            case tokenRefused = "token refused"
        }

        /// The remedies that may help against it.
        let remedies: Set<Remedy>
        let effect: Effect
    }

    /// A grant at the server, with the facts that decide which remedies may help.
    struct Presentation {
        /// The number of presentations that a grant allows.
        enum Use {
            /// Made for one request, as an assertion is: made again instead of presented again.
            case once
            case repeatedly
        }

        let grant: TokenGrant
        let use: Use
        /// The known lead of the server's clock when the grant was made.
        var clockOffset = Duration.zero
    }

    /// The facts at the time of a refusal that change during a renewal.
    struct Circumstances {
        /// The known lead of the server's clock.
        var clockOffset = Duration.zero
        /// The time since the first request of the renewal.
        var elapsed = Duration.zero
    }
}

extension RenewalPlan.Refusal {
    /// The refusal of a request that presents no grant.
    init(error: String?, _ configuration: OAuthConfiguration) {
        remedies = Self.remedies(of: error, configuration)
        effect = .notSpent
    }

    /// The remedies of the request that may help against the `error` of a response.
    private static func remedies(
        of error: String?,
        _ configuration: OAuthConfiguration
    ) -> Set<RenewalPlan.Remedy> {
        if error == "invalid_client", configuration.rotatingSecret != nil { return [.newSecret] }
        if configuration.proof != nil, ProofOfPossession.isAtFault(error) { return [.newProof] }
        return []
    }

    /// Derives the facts from a failure.
    init(
        _ failure: TokenFailure,
        of presentation: RenewalPlan.Presentation,
        _ configuration: OAuthConfiguration,
        _ circumstances: RenewalPlan.Circumstances = .init()
    ) {
        let isOfRefreshToken = presentation.grant.refreshToken != nil
        var remedies: Set<RenewalPlan.Remedy> = []
        if !failure.mayBeSpent {
            remedies = Self.remedies(of: failure.serverError, configuration)
            if presentation.use == .once, remedies.remove(.newProof) != nil {
                remedies.insert(.newSignature)
            }
            if presentation.isOutdated(failure, configuration, circumstances) {
                remedies.insert(.newSignature)
            }
        }
        if failure.kind == .lost, isOfRefreshToken,
            case .repeatWithin(let window) = configuration.lostResponse,
            circumstances.elapsed <= window
        {
            remedies.insert(.repetition)
        }
        let isRefused = failure.kind == .invalidGrant && isOfRefreshToken
        if isRefused { remedies.insert(.otherToken) }
        self.remedies = remedies
        effect = isRefused ? .tokenRefused : failure.mayBeSpent ? .mayBeSpent : .notSpent
    }
}

extension RenewalPlan.Presentation {
    /// Whether the server may have refused a signature because of its time: it knows another time than the
    /// signature has, which the response has revealed.
    fileprivate func isOutdated(
        _ failure: TokenFailure,
        _ configuration: OAuthConfiguration,
        _ circumstances: RenewalPlan.Circumstances
    ) -> Bool {
        // GitHub describes a refusal of its assertion by the status alone.
        guard failure.serverError != nil || grant.json != nil else { return false }
        let isAssertion = grant.secretParameters.contains { $0.name == TokenGrant.assertionName }
        guard isAssertion || configuration.clientAuthentication == .privateKeyJWT else {
            return false
        }
        guard failure.kind == .configuration || (failure.kind == .invalidGrant && isAssertion)
        else {
            return false
        }
        // The client may have learned the time on its way to the endpoint, and signed with it.
        let signed = isAssertion ? clockOffset : failure.clockOffset ?? clockOffset
        let moved = circumstances.clockOffset - signed
        return max(moved, .zero - moved) >= ServerClock.blur
    }
}
