import NetworkCore
import OAuth

extension STSDocument {
    /// The credentials in a response to AssumeRole or one of its relatives, with the time of their end.
    func credentials() -> (AWSCredentials, UnixTime)? {
        guard let key = text(of: "AccessKeyId"), let secret = text(of: "SecretAccessKey"),
            let token = text(of: "SessionToken"),
            let end = text(of: "Expiration").flatMap(AWSTime.parse),
            let credentials = AWSCredentials(
                accessKeyID: key,
                secretAccessKey: Secret(secret),
                sessionToken: Secret(token)
            )
        else { return nil }
        return (credentials, end)
    }

    /// Returns the failure that a refusal stands for.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - source: names the service and the role.
    ///   - content: the response; `nil` if it is not such a document.
    /// - Returns: the failure, with the code and the message of the service.
    static func failure(_ status: HTTPStatus, from source: String, _ content: STSDocument?)
        -> TokenFailure
    {
        let code = content?.text(of: "Code")
        let isLasting =
            status.rawValue < 500 && status != 429
            && code.map { !passing.contains($0) } ?? false
        var failure = TokenFailure(
            isLasting ? .configuration : .transient,
            detail: "\(source) answered \(status.rawValue)"
                + (code.map { " \(AWSWords.code($0))" } ?? "")
        )
        failure.serverError = code.map(AWSWords.code)
        if let message = content?.text(of: "Message") {
            failure.serverDescription = ServerWords.clean(message, secrets: [])
            if let words = failure.serverDescription { failure.detail += ": \(words)" }
        }
        return failure
    }

    /// Codes of refusals that pass: a token file is replaced, a clock is learned, a limit ends.
    private static let passing: Set<String> = [
        "ExpiredToken", "ExpiredTokenException", "IDPCommunicationError", "InvalidIdentityToken",
        "RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "Throttling",
        "ThrottlingException", "RequestLimitExceeded",
    ]
}
