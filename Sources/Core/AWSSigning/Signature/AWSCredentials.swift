package import NetworkCore

/// Credentials of AWS: a key and its secret, with the session token of those that expire.
package struct AWSCredentials: Sendable, Equatable {
    /// The public half of the pair.
    package let accessKeyID: String
    /// The secret half, which is never sent.
    package let secretAccessKey: Secret
    /// What goes with credentials that are valid for a time.
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

    /// What must not be shown of them.
    package var secrets: [Secret] { [secretAccessKey] + (sessionToken.map { [$0] } ?? []) }
}
