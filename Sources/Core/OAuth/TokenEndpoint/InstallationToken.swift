import FoundationEssentials
import NetworkCore

/// The response of GitHub to an `InstallationGrant`.
struct InstallationToken: Decodable {
    var token: String
    var expires_at: String?

    /// Reads a response; `nil` if it has no token.
    static func parse(_ body: ByteSlice, _ headers: HTTPHeaders) -> InstallationToken? {
        ServerDocument.read(InstallationToken.self, from: body, headers)
    }

    /// The time until the token expires; `nil` if the response has none.
    func lifetime(since now: UnixTime) -> Duration? {
        guard let expires_at else { return nil }
        do {
            let end = try Date(expires_at, strategy: .iso8601).timeIntervalSince1970
            return ServerDocument.lifetime(end - now.secondsSinceEpoch)
        } catch {
            return nil
        }
    }
}
