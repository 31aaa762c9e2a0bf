import NetworkCore

/// Which of a channel's credentials a request may have, by who asks.
package struct AccountChoice: Sendable {
    /// Who may have a credential.
    package struct Clients: Sendable, Equatable {
        /// The name that a lent key may be for; `nil` for a channel's own credential.
        let identity: String?
        /// The users that it is for; empty means all.
        let users: [UInt32]

        package init(identity: String?, users: [UInt32]) {
            (self.identity, self.users) = (identity, users)
        }

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

    /// Places of credentials, one bit each.
    struct Places {
        let all: UInt64
        /// Those of them that are used first.
        let preferred: UInt64
    }

    /// Chooses.
    ///
    /// A program that was lent a key for an identity gets that one alone, where the channel has it. Of the
    /// others, those that name the user count before those that name no one.
    ///
    /// - Parameters:
    ///   - key: the lent key that came with the request.
    ///   - userID: the peer's on a unix socket.
    /// - Returns: the places.
    /// - Throws: `http_request_denied` with 403 if none is for this client.
    func places(for key: LentKey?, _ userID: UInt32?) throws(NetworkError) -> Places {
        try AccountChoice.check(key, among: credentials)
        let user = userID ?? key?.userID
        let identity = key?.identity
        let isNamed = identity != nil && credentials.contains { $0.identity == identity }
        let places = credentials.indices.filter { index in
            credentials[index].include(user)
                && (!isNamed || credentials[index].identity == identity)
        }
        guard !places.isEmpty else {
            let who = user.map { "user \($0)" } ?? "a client over TCP, whose user is not known"
            throw AccountChoice.denied(
                "no identity of the channel is for \(who); see identities.*.users"
            )
        }
        func bits(_ places: [Int]) -> UInt64 { places.reduce(0) { $0 | 1 << UInt64($1) } }
        return Places(
            all: bits(places),
            preferred: bits(places.filter { !credentials[$0].users.isEmpty })
        )
    }

    /// Checks that a channel still has the identity that a key was lent for.
    ///
    /// - Throws: `http_request_denied` with 403.
    static func check(_ key: LentKey?, among credentials: [Clients]) throws(NetworkError) {
        guard let key, key.isPromised, let identity = key.identity,
            !credentials.contains(where: { $0.identity == identity })
        else { return }
        throw denied("the key is for the identity \(identity), which the channel has no more")
    }

    private static func denied(_ detail: String) -> NetworkError {
        NetworkError(
            .httpRequestDenied,
            side: .downstream,
            retry: .safe,
            detail: detail,
            status: 403
        )
    }
}
