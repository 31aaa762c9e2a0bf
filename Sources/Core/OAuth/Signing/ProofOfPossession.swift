import FoundationEssentials
import NetproxyCryptography
public import NetworkCore
import Synchronization

/// Makes the proofs that go with tokens bound to a key (DPoP, RFC 9449): a stolen token is useless
/// without the key.
///
/// One instance signs all requests, to the token endpoint and to the API, and keeps the nonce and the
/// clock of each. A bound token is never presented without a proof.
public final class ProofOfPossession: Sendable {
    /// The kind of server a proof is for; both may share an origin, and still have separate nonces
    /// (RFC 9449 §8, §9).
    public enum Role: Sendable, Hashable {
        /// The token endpoint.
        case authorizationServer
        /// The API, which receives a token with the proof.
        case resourceServer
    }

    private struct ServerKey: Hashable {
        let origin: Origin
        let role: Role
    }

    /// The nonce and the clock of a server.
    private struct Server {
        let clock: ServerClock
        var nonce: String?
        /// The time at which it last sent the nonce.
        var heardAt: ContinuousClock.Instant?
    }

    /// The time for which a nonce is trusted: servers replace nonces every minute or less often.
    private static let nonceTrust = Duration.seconds(30)

    private struct Claims: Encodable {
        var jti: String
        var htm: String
        var htu: String
        var iat: Int
        var ath: String?
        var nonce: String?
    }

    private let key: SigningKey
    private let clock: any NetworkClock
    /// The JOSE header, the same in every proof.
    private let header: String
    private let servers = Mutex<[ServerKey: Server]>([:])

    /// The thumbprint of the public key (RFC 7638), which tokens are bound to (`jkt`).
    public let thumbprint: String

    /// Creates the prover of a key.
    ///
    /// - Parameters:
    ///   - key: signs the proofs, which contain its public key.
    ///   - clock: the machine's, except in tests.
    public init(key: SigningKey, clock: any NetworkClock = SystemClock()) {
        self.key = key
        self.clock = clock
        let jwk = key.publicJWK
        thumbprint = jwk.thumbprint
        let members =
            "{\"alg\":\"\(key.algorithm.rawValue)\",\"jwk\":\(jwk.json),\"typ\":\"dpop+jwt\"}"
        header = Base64URL.encode(members.utf8)
    }

    /// The algorithm that proofs are signed with.
    public var algorithm: SigningKey.Algorithm { key.algorithm }

    /// Returns a proof for one request (RFC 9449 §4.2), with a new `jti`.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - origin: the origin of the request.
    ///   - target: path and query; the proof leaves the query out.
    ///   - token: the access token that the request presents; `nil` for the token endpoint.
    /// - Returns: the value of the `DPoP` field.
    /// - Throws: the error of the cryptography library; not expected of a parsed key.
    public func proof(
        for method: HTTPMethod,
        to origin: Origin,
        _ target: String,
        presenting token: Secret? = nil
    ) throws -> String {
        let path = target == "*" ? "" : target.prefix { $0 != "?" }
        let role: Role = token == nil ? .authorizationServer : .resourceServer
        let server = servers.withLock { $0[ServerKey(origin: origin, role: role)] }
        let now = server?.clock.now ?? clock.wallNow
        let claims = Claims(
            jti: Base64URL.random(bytes: 16),
            htm: method.rawValue,
            htu: "\(origin)\(path)",
            iat: Int(now.secondsSinceEpoch),
            ath: token.map { Base64URL.encode(SHA256.digest(of: $0.reveal())) },
            nonce: server?.nonce
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let input = try header + "." + Base64URL.encode(encoder.encode(claims))
        return input + "." + Base64URL.encode(try key.signature(of: Array(input.utf8)))
    }

    /// Learns from a response of any status: the nonce for the next proof (RFC 9449 §8.2) and the
    /// server's clock.
    public func learn(from headers: HTTPHeaders, of origin: Origin, as role: Role) {
        let nonce = headers[.dpopNonce].flatMap { ProofOfPossession.isNonce($0) ? $0 : nil }
        guard nonce != nil || headers.contains(HTTPFieldName.date) else { return }
        let server = servers.withLock { servers in
            let key = ServerKey(origin: origin, role: role)
            var server = servers[key] ?? Server(clock: ServerClock(clock: clock))
            if let nonce { (server.nonce, server.heardAt) = (nonce, clock.now) }
            servers[key] = server
            return server
        }
        server.clock.learn(from: headers)
    }

    /// Whether an API that uses nonces has not sent one for a while, and so may refuse the next proof.
    func mayLackNonce(for origin: Origin) -> Bool {
        let key = ServerKey(origin: origin, role: .resourceServer)
        guard let heardAt = servers.withLock({ $0[key]?.heardAt }) else { return false }
        return clock.now - heardAt >= ProofOfPossession.nonceTrust
    }

    /// Whether a server's `error` is about the proof and not about the token or grant: another proof may
    /// be accepted.
    static func isAtFault(_ error: String?) -> Bool {
        error == "use_dpop_nonce" || error == "invalid_dpop_proof"
    }

    /// Whether a text is visible ASCII without quotes and backslashes (RFC 9449 §8.1), and not too long.
    private static func isNonce(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}

/// A token bound to a key, with the prover of that key.
struct BoundToken: CredentialProof {
    let token: Secret
    let proof: ProofOfPossession

    func attach(to request: inout Request) throws {
        request.headers.remove(HTTPFieldName.dpop)
        let text = try proof.proof(
            for: request.method,
            to: request.origin,
            request.target,
            presenting: token
        )
        request.headers.append(.dpop, validated: text)
    }

    func learn(from headers: HTTPHeaders, of origin: Origin) {
        proof.learn(from: headers, of: origin, as: .resourceServer)
    }

    func mayBeRefused(by origin: Origin) -> Bool { proof.mayLackNonce(for: origin) }
}
