import FoundationEssentials
public import NetworkCore

/// The key file of a service account: a JSON object with the account's name, its private key and the
/// token endpoint.
public struct ServiceAccountKey: Sendable {
    /// The account: issuer and subject of its assertions.
    public let email: String
    /// Signs its assertions.
    public let key: SigningKey
    /// The token endpoint, which is also the audience of its assertions.
    public let tokenURI: String

    private struct File: Decodable {
        var client_email: String
        var private_key: String
        var private_key_id: String?
        var token_uri: String
    }

    /// Parses the content of a key file.
    ///
    /// - Throws: `SigningKeyError`, whose description never quotes the file.
    public init(json: Secret) throws(SigningKeyError) {
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: Data(json.reveal().utf8))
        } catch {
            // The decoder's error is dropped, because it may quote the key.
            throw .serviceAccount
        }
        guard !file.client_email.isEmpty, !file.token_uri.isEmpty else { throw .serviceAccount }
        email = file.client_email
        tokenURI = file.token_uri
        key = try SigningKey(pem: Secret(file.private_key), id: file.private_key_id)
    }
}
