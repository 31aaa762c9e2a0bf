import FoundationEssentials
package import NetworkCore
package import OAuth

/// The JSON in which credentials are handed over: by a `credential_process`, by the agent of a container,
/// and by the metadata service of an instance.
package struct CredentialDocument {
    /// The writer of the document.
    package enum Kind {
        /// A program; with `Version` 1 and `SessionToken`.
        case process
        /// A metadata service; with `Token`, and for an instance with `Code`.
        case metadata
    }

    private struct Members: Decodable {
        var Version: Int?
        var AccessKeyId: String?
        var SecretAccessKey: String?
        var SessionToken: String?
        var Token: String?
        var Expiration: String?
        var Code: String?
    }

    /// The credentials; `nil` where a part is missing or unfit for a field.
    let credentials: AWSCredentials?
    /// Their expiry; `nil` if they do not expire.
    let expiration: UnixTime?

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - content: the JSON.
    ///   - kind: the writer.
    ///   - source: names the writer in errors.
    /// - Throws: `TokenFailure` with the fault, without a quotation.
    package init(_ content: [UInt8], of kind: Kind, from source: String) throws(TokenFailure) {
        let members: Members
        do {
            members = try JSONDecoder().decode(Members.self, from: Data(content))
        } catch {
            // The decoder's message may quote a secret.
            throw TokenFailure(
                .transient,
                detail: "\(source) returned no JSON with AccessKeyId and SecretAccessKey"
            )
        }
        if kind == .process, members.Version != 1 {
            throw TokenFailure(
                .configuration,
                detail:
                    "\(source) printed credentials without \"Version\": 1, the only version known"
            )
        }
        if let code = members.Code, code != "Success" {
            throw TokenFailure(
                .transient,
                detail: "\(source) has no credentials: \(AWSWords.code(code))"
            )
        }
        let token = kind == .process ? members.SessionToken : members.Token
        credentials = AWSCredentials(
            accessKeyID: members.AccessKeyId ?? "",
            secretAccessKey: Secret(members.SecretAccessKey ?? ""),
            sessionToken: token.flatMap { $0.isEmpty ? nil : Secret($0) }
        )
        guard credentials != nil else {
            throw TokenFailure(
                .transient,
                detail:
                    "\(source) returned credentials without AccessKeyId or SecretAccessKey, or with "
                    + "characters that no field may hold"
            )
        }
        guard let end = members.Expiration else {
            expiration = nil
            return
        }
        expiration = AWSTime.parse(end)
        guard expiration != nil else {
            throw TokenFailure(
                .transient,
                detail: "\(source) returned an Expiration that is not a time such as "
                    + "2026-11-27T12:00:00Z"
            )
        }
    }

    /// The credentials with their lifetime.
    ///
    /// - Parameters:
    ///   - now: the time of day, by the writer's clock if it is known.
    ///   - source: names the writer in errors.
    /// - Returns: the credentials.
    /// - Throws: `TokenFailure` if they have expired.
    package func issued(at now: UnixTime, by source: String) throws(TokenFailure)
        -> IssuedCredentials
    {
        guard let credentials else {
            throw TokenFailure(.transient, detail: "\(source) returned no credentials")
        }
        guard let expiration else { return IssuedCredentials(credentials) }
        let lifetime = expiration - now
        guard lifetime > .zero else {
            throw TokenFailure(
                .transient,
                detail: "\(source) returned credentials that have expired"
            )
        }
        return IssuedCredentials(credentials, lifetime: lifetime)
    }
}

/// Words of AWS, fit to be shown.
enum AWSWords {
    /// An error code: letters, digits, `.`, `_` and `:`, at most 64 characters.
    static func code(_ text: String) -> String {
        let isFit = text.utf8.allSatisfy {
            Grammar.isAlphanumeric($0) || ".:_-".utf8.contains($0)
        }
        return isFit && (1...64).contains(text.utf8.count) ? text : "an unknown error"
    }
}
