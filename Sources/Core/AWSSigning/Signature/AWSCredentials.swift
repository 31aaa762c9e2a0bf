import FoundationEssentials
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

/// Credentials with the time for which they are valid.
package struct IssuedCredentials: Sendable {
    /// The credentials.
    package var credentials: AWSCredentials
    /// How long they are valid from now on; `nil` for those that do not expire.
    package var lifetime: Duration?

    /// Describes what a source has issued.
    package init(_ credentials: AWSCredentials, lifetime: Duration? = nil) {
        (self.credentials, self.lifetime) = (credentials, lifetime)
    }
}

extension AWSCredentials {
    private struct Document: Encodable {
        var Version = 1
        var AccessKeyId: String
        var SecretAccessKey: String
        var SessionToken: String?
    }

    /// The credentials as one text, such as the token engine keeps: what a `credential_process` prints.
    package var encoded: Secret {
        let document = Document(
            AccessKeyId: accessKeyID,
            SecretAccessKey: secretAccessKey.reveal(),
            SessionToken: sessionToken?.reveal()
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Secret(String(decoding: try encoder.encode(document), as: UTF8.self))
        } catch {
            // Three texts and a number have a JSON form.
            preconditionFailure("credentials are texts, which can be encoded")
        }
    }

    /// Makes an authorizer that holds that text, for an `AWSAuthorizer` of keys that are configured.
    ///
    /// - Throws: never: the parts are visible ASCII, which is fit for a field.
    package func held() throws(NetworkError) -> StaticAuthorizer {
        try StaticAuthorizer.header(.authorization, encoded)
    }

    /// Reads that text again; `nil` for any other.
    package init?(encoded: Secret) {
        guard
            let document = try? CredentialDocument(
                Array(encoded.reveal().utf8),
                of: .process,
                from: ""
            ), let credentials = document.credentials
        else { return nil }
        self = credentials
    }
}
