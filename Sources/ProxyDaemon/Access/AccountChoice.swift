import NetworkCore

/// Which of a channel's credentials a request may have, by who asks.
struct AccountChoice: Sendable {
    /// Who may have a credential.
    struct Clients: Sendable, Equatable {
        /// The name that a lent key may be for; `nil` for a channel's own credential.
        let identity: String?
        /// The users that it is for; empty means all.
        let users: [UInt32]

        fileprivate func include(_ userID: UInt32?) -> Bool {
            users.isEmpty || userID.map(users.contains) == true
        }
    }

    private let credentials: [Clients]

    /// Chooses among credentials in the order in which they are used; `nil` where every request may have
    /// all there are, and in one order.
    init?(among credentials: [Clients]) {
        guard credentials.count > 1 || credentials.contains(where: { !$0.users.isEmpty }) else {
            return nil
        }
        self.credentials = credentials
    }

    /// Chooses.
    ///
    /// A program that was lent a key for an identity gets that one alone, where the channel has it. Of the
    /// others, those that name the user count before those that name no one.
    ///
    /// - Parameters:
    ///   - identity: what a lent key is for.
    ///   - userID: the peer's on a unix socket.
    /// - Returns: the places of the credentials, one bit each.
    /// - Throws: `http_request_denied` with 403 if none is for this client.
    func places(
        for identity: String?,
        _ userID: UInt32?
    ) throws(NetworkError) -> UInt64 {
        let isNamed = identity != nil && credentials.contains { $0.identity == identity }
        let candidates = credentials.indices.filter { index in
            credentials[index].include(userID)
                && (!isNamed || credentials[index].identity == identity)
        }
        let named = candidates.filter { !credentials[$0].users.isEmpty }
        let places = named.isEmpty ? candidates : named
        guard !places.isEmpty else {
            let who = userID.map { "user \($0)" } ?? "a client over TCP, whose user is not known"
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                retry: .safe,
                detail: "no identity of the channel is for \(who); see identities.*.users",
                status: 403
            )
        }
        return places.reduce(0) { $0 | 1 << UInt64($1) }
    }
}
