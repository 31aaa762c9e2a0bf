import NetworkCore

/// What a store held when it was looked at last.
struct StoredState: Equatable {
    /// Whose tokens they are.
    enum Owner {
        /// This client's, or nobody's.
        case own
        /// Another client's or token endpoint's, as after a slip in the configuration: they stay
        /// until the server has given tokens to put in their place.
        case foreign
        /// As `foreign`, but the server has given tokens since, which replace them at the next write.
        case superseded
    }

    /// What compare-and-swap compares; 0 where nothing is stored.
    private(set) var revision = 0
    /// The fingerprint of the refresh token.
    private(set) var fingerprint: String?
    /// Whose tokens they are.
    var owner = Owner.own

    /// Nothing is stored.
    init() {}

    /// Whether nobody has written since, whoever the tokens belong to: revisions begin anew behind a
    /// sign-out.
    func isSame(as other: StoredState) -> Bool {
        revision == other.revision && fingerprint == other.fingerprint
    }

    /// What a manager for `authority` finds, which has found `before` at the last look.
    init(_ record: TokenRecord?, authority: String, since before: StoredState = StoredState()) {
        guard let record else { return }
        revision = record.revision
        fingerprint = record.refreshToken.map(TokenRecord.fingerprint)
        guard record.authority != authority else { return }
        let isOvertaken = before.owner == .superseded && before.revision == revision
        owner = isOvertaken ? .superseded : .foreign
    }
}
