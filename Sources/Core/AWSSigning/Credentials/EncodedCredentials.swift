import FoundationEssentials
package import NetworkCore

extension AWSCredentials {
    private struct Document: Encodable {
        var Version = 1
        var AccessKeyId: String
        var SecretAccessKey: String
        var SessionToken: String?
    }

    /// The credentials as one text for the token engine, in the format of a `credential_process`.
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

    /// Returns an authorizer for the encoded credentials, for `AWSAuthorizer` with configured keys.
    ///
    /// - Throws: never: the parts are visible ASCII, which is fit for a field.
    package func held() throws(NetworkError) -> StaticAuthorizer {
        try StaticAuthorizer.header(.authorization, encoded)
    }

    /// Reads encoded credentials; `nil` for any other text.
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
