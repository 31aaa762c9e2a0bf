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
