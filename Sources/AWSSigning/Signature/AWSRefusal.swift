package import NetworkCore

/// What AWS says of a signature or of its key in a 400 or 403, which mean many other things as well.
package enum AWSRefusal: Equatable {
    /// The credentials have expired: others are wanted.
    case expired
    /// The key is not known, or not any longer.
    case unknownKey
    /// The time of the signature is too far from the server's.
    case clockSkew

    /// The statuses that are looked at, besides 401.
    package static let statuses: [HTTPStatus] = [400, 403]

    private static let words: [(AWSRefusal, [String])] = [
        (
            .clockSkew,
            [
                "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture",
                "Signature expired", "Signature not yet current",
            ]
        ),
        (
            .expired,
            [
                "ExpiredToken", "TokenRefreshRequired",
                "security token included in the request is expired",
            ]
        ),
        (
            .unknownKey,
            [
                "<Code>InvalidToken</Code>", "InvalidAccessKeyId", "InvalidClientTokenId",
                "UnrecognizedClientException",
                "security token included in the request is invalid",
            ]
        ),
    ]

    /// The phrases in the content of an answer that may be one of these; services that name the error in
    /// a field say the same in a sentence.
    package static let phrases = words.flatMap(\.1)

    /// Reads an answer; `nil` if it says none of this.
    package init?(_ content: ByteSlice?) {
        guard let content else { return nil }
        let text = String(decoding: content.array, as: UTF8.self)
        let row = AWSRefusal.words.first { $0.1.contains { text.contains($0) } }
        guard let row else { return nil }
        self = row.0
    }
}
