import NetworkCore

/// The request that presents a grant (RFC 6749 §3.2).
enum TokenRequest {
    static func make(
        _ grant: TokenGrant,
        _ configuration: OAuthConfiguration,
        at now: UnixTime
    ) throws(TokenFailure) -> Request {
        var form = [FormParameter("grant_type", grant.type)]
        form += grant.parameters
        form += grant.secretParameters.map { FormParameter($0.name, $0.value.reveal()) }
        form += configuration.targets
        let endpoint = configuration.tokenEndpoint
        var request = try ClientRequest(configuration, at: now).post(form, to: endpoint)
        if let proof = configuration.proof {
            do {
                let text = try proof.proof(for: .post, to: endpoint.origin, endpoint.target)
                request.headers.append(.dpop, validated: text)
            } catch {
                throw TokenFailure(.configuration, detail: "the key of dpop_key cannot sign")
            }
        }
        return request
    }
}
