/// Proves with each request that its sender holds the key that the credential is bound to (DPoP,
/// RFC 9449).
package protocol CredentialProof: Sendable {
    /// Adds a new proof to a request that carries the credential.
    ///
    /// - Throws: if the key cannot sign; the request must not be sent without a proof.
    func attach(to request: inout Request) throws

    /// Learns from an answer to such a request, whatever its status.
    func learn(from headers: HTTPHeaders, of origin: Origin)

    /// Whether the origin may refuse the next proof, as far as is known.
    func mayBeRefused(by origin: Origin) -> Bool
}

/// Signs a request as a whole, where a credential is a key that never leaves: a signature over method, path
/// and content, such as AWS Signature Version 4.
///
/// It comes with a `Credential`, in place of a value that goes into one field.
package protocol RequestSigning: Sendable {
    /// Removes what the app signed the request with, and adds a new signature; called for each attempt, as
    /// the last step before the transport.
    ///
    /// - Throws: `NetworkError` if the request cannot be signed, such as for content that is too long.
    func sign(_ request: inout Request) async throws

    /// Learns from an answer to such a request, whatever its status.
    func learn(from response: borrowing Response)
}

/// Tells requests that bring a signature in the query, rather than in the credential's field.
///
/// An authorizer whose credential signs requests may be one.
package protocol SignatureRecognizing: Sendable {
    /// Whether the query of a request has the app's signature.
    func isSigned(_ request: borrowing Request) -> Bool
}

extension RequestSigning {
    /// Learns nothing.
    package func learn(from response: borrowing Response) {}
}
