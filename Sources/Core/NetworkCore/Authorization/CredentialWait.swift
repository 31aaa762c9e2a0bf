import Synchronization

/// The waits for credentials that the current task serves, to find one that waits for itself.
///
/// The source of a credential may send requests, for example through a channel. If that channel signs with
/// the same credential, directly or through others, its request would wait for the wait that it serves.
enum CredentialWait {
    private final class Wait: Sendable {
        let authorizer: ObjectIdentifier
        let isOver = Atomic(false)

        init(_ authorizer: ObjectIdentifier) {
            self.authorizer = authorizer
        }
    }

    /// Inherited by the tasks that a source starts, such as a renewal.
    @TaskLocal private static var open: [Wait] = []

    /// Waits for a credential.
    ///
    /// - Throws: `credential_unavailable` if the current task serves a wait for the same authorizer; the
    ///   errors of `body`.
    static func run<Result>(
        for authorizer: any Authorizing,
        _ body: () async throws -> Result
    ) async throws -> Result {
        guard !isServing(authorizer) else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: "the request for a credential (\(authorizer.kind)) waits for that "
                    + "credential: its channel signs with the same authorizer; use one that does not"
            )
        }
        guard let identity = identity(of: authorizer) else { return try await body() }
        let wait = Wait(identity)
        defer { wait.isOver.store(true, ordering: .relaxed) }
        return try await $open.withValue(open + [wait], operation: body)
    }

    /// Whether the current task serves a wait for the authorizer that is not over.
    static func isServing(_ authorizer: any Authorizing) -> Bool {
        guard !open.isEmpty, let identity = identity(of: authorizer) else { return false }
        return open.contains {
            $0.authorizer == identity && !$0.isOver.load(ordering: .relaxed)
        }
    }

    /// Returns the identity of an authorizer; `nil` for a value.
    private static func identity(of authorizer: any Authorizing) -> ObjectIdentifier? {
        if let timed = authorizer as? TimedAuthorizer { return identity(of: timed.authorizer) }
        if let header = authorizer as? HeaderAuthorizer { return header.sourceIdentity }
        return type(of: authorizer) is any AnyObject.Type
            ? ObjectIdentifier(authorizer as AnyObject) : nil
    }
}
