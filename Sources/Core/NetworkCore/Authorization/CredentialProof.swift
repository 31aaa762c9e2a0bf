/// Proves with each request that its sender has the private key of a bound credential (DPoP, RFC 9449).
package protocol CredentialProof: Sendable {
    /// Adds a new proof to a request that carries the credential.
    ///
    /// - Throws: an error if the key cannot sign; the request must not be sent without a proof.
    func attach(to request: inout Request) throws

    /// Updates the state from a response to such a request, regardless of its status.
    func learn(from headers: HTTPHeaders, of origin: Origin)

    /// Whether the origin is expected to refuse the next proof.
    func mayBeRefused(by origin: Origin) -> Bool
}

/// Signs requests as a whole with a secret key: method, path and content, as in AWS Signature Version 4.
///
/// A `Credential` contains it instead of the value of a field.
package protocol RequestSigning: Sendable {
    /// Replaces the client's signature with a new one.
    ///
    /// Called for each attempt, as the last step before the transport.
    ///
    /// - Throws: `NetworkError` if the request cannot be signed, for example if its content is too long.
    func sign(_ request: inout Request) async throws

    /// Updates the state from a response to such a request, regardless of its status.
    func learn(from response: borrowing Response)
}

/// Recognizes requests with a signature in the query instead of the credential's field.
///
/// An authorizer whose credential signs requests can conform.
package protocol SignatureRecognizing: Sendable {
    /// Whether the query of a request contains the client's signature.
    func isSigned(_ request: borrowing Request) -> Bool
}

extension RequestSigning {
    /// Does nothing.
    package func learn(from response: borrowing Response) {}
}
