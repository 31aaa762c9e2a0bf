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

    /// The members by which another file of Google is recognized.
    private struct OtherFile: Decodable {
        struct Client: Decodable {}
        var type: String?
        var installed: Client?
        var web: Client?
    }

    /// The kind of a file that is no key of a service account.
    private static func kind(of json: Secret) -> SigningKeyError {
        guard
            let file = try? JSONDecoder().decode(
                OtherFile.self,
                from: Data(json.reveal().utf8)
            )
        else { return .serviceAccount }
        if file.installed != nil || file.web != nil { return .googleFile(.client) }
        return file.type.flatMap(GoogleFile.init).map { .googleFile($0) } ?? .serviceAccount
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
            throw ServiceAccountKey.kind(of: json)
        }
        guard !file.client_email.isEmpty, !file.token_uri.isEmpty else { throw .serviceAccount }
        email = file.client_email
        tokenURI = file.token_uri
        key = try SigningKey(pem: Secret(file.private_key), id: file.private_key_id)
    }
}

/// The credentials files of Google beside the key of a service account, by their `type`.
public enum GoogleFile: String, Sendable, Hashable {
    /// Workload identity.
    case externalAccount = "external_account"
    /// Workforce identity.
    case externalUser = "external_account_authorized_user"
    /// Impersonation.
    case impersonation = "impersonated_service_account"
    /// A user's application default credentials.
    case user = "authorized_user"
    /// A client of OAuth, which has no `type`.
    case client = "client_secret"

    /// The next step, as a clause.
    var advice: String {
        switch self {
        case .externalAccount:
            "use the grant token_exchange with its token_url, audience and subject token"
        case .externalUser, .user:
            "use its client_id, client_secret and refresh_token with the grant refresh_token"
        case .impersonation: "use the key of the service account itself"
        case .client: "use its client_id and client_secret with the grant authorization_code"
        }
    }
}
