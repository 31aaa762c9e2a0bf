import NetworkCore

/// Selects the credentials of a channel that a client may use.
package struct AccountChoice: Sendable {
    /// The clients that may use one credential.
    package struct Clients: Sendable, Equatable {
        /// The identity for which a key can be lent; `nil` for a channel's own credential.
        let identity: String?
        /// The users who may use the credential; all of them if empty.
        let users: [UInt32]

        package init(identity: String?, users: [UInt32]) {
            (self.identity, self.users) = (identity, users)
        }

        fileprivate func include(_ userID: UInt32?) -> Bool {
            users.isEmpty || userID.map(users.contains) == true
        }
    }

    private let credentials: [Clients]

    /// Creates a choice among credentials in their order of use; `nil` if every request may use all of
    /// them in the same order.
    init?(among credentials: [Clients]) {
        guard credentials.count > 1 || credentials.contains(where: { !$0.users.isEmpty }) else {
            return nil
        }
        self.credentials = credentials
    }

    /// The positions of credentials, one bit each.
    struct Places {
        let all: UInt64
        /// The positions that are used first.
        let preferred: UInt64
    }

    /// Returns the positions of the credentials that a client may use.
    ///
    /// A lent key for an identity selects that identity alone if the channel has it. Among the other
    /// credentials, those that list the user come before those that list nobody.
    ///
    /// - Parameters:
    ///   - key: the lent key in the request.
    ///   - userID: the peer's user id on a unix socket.
    /// - Returns: the positions.
    /// - Throws: `http_request_denied` with 403 if the client may use none.
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

    /// Checks that a channel still has the identity of a lent key.
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
