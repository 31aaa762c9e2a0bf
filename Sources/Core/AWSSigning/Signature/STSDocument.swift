import NetworkCore
import OAuth

/// An answer of the Security Token Service, which is XML: the few elements of it that count.
struct STSDocument {
    private let text: String

    /// Takes an answer; `nil` if it is not UTF-8, or declares entities.
    init?(_ content: [UInt8]) {
        guard let text = String(validating: content, as: UTF8.self), !text.contains("<!") else {
            return nil
        }
        self.text = text
    }

    /// The text of the only element with this name; `nil` without one, or where it holds another.
    func text(of name: String) -> String? {
        let parts = text.split(separator: "<\(name)>", omittingEmptySubsequences: false)
        guard parts.count == 2, let end = parts[1].firstRange(of: "</\(name)>") else { return nil }
        let inner = parts[1][..<end.lowerBound]
        guard !inner.contains("<") else { return nil }
        return STSDocument.decoded(inner.trimmingPrefix(while: \.isWhitespace))
    }

    /// The credentials of an answer to AssumeRole and its kin, and when they end.
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

    /// What a refusal means for the next request.
    ///
    /// - Parameters:
    ///   - status: that of the answer.
    ///   - source: names the service and the role.
    ///   - content: the answer; `nil` if it is not such a document.
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

    /// A text with the five entities of XML, and no others, in their place.
    private static func decoded(_ text: Substring) -> String {
        var result = String(text)
        while result.last?.isWhitespace == true { result.removeLast() }
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
        ] {
            result = result.replacing(entity, with: character)
        }
        return result
    }
}
