import NetworkCore

/// Why a sign-in did not end with tokens: one clause a person can act on, without secrets.
public struct SignInError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The clause.
    public let description: String

    /// Says why.
    public init(_ description: String) {
        self.description = description
    }
}
