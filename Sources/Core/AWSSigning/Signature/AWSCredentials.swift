package import NetworkCore

/// Credentials of AWS: a key and its secret, with a session token if they expire.
package struct AWSCredentials: Sendable, Equatable {
    /// The public half of the pair.
    package let accessKeyID: String
    /// The secret half, which is never sent.
    package let secretAccessKey: Secret
    /// The session token of credentials that expire.
    package let sessionToken: Secret?

    /// Makes credentials; `nil` unless each part is visible ASCII.
    package init?(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil) {
        let parts = [accessKeyID, secretAccessKey.reveal(), sessionToken?.reveal()]
        guard
            parts.compactMap({ $0 }).allSatisfy({ part in
                !part.isEmpty && part.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            }), !accessKeyID.contains("/"), !accessKeyID.contains(",")
        else { return nil }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }

    /// The secret parts.
    package var secrets: [Secret] { [secretAccessKey] + (sessionToken.map { [$0] } ?? []) }
}
