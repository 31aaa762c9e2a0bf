import Crypto
import FoundationEssentials
public import NetworkCore
import Synchronization

/// Proves with each request that whoever presents a token holds the key that it is bound to (DPoP,
/// RFC 9449): a token that leaks is worth nothing without the key.
///
/// One for all requests that the key signs, to the token endpoint and to the API: it keeps the nonce
/// and the clock of each. A token that is bound is never presented without a proof.
public final class ProofOfPossession: Sendable {
    /// Whom a proof is for; both may live at one origin, and have nonces of their own all the same
    /// (RFC 9449 §8, §9).
    public enum Role: Sendable, Hashable {
        /// The token endpoint.
        case authorizationServer
        /// The API, which gets a token with the proof.
        case resourceServer
    }

    private struct Place: Hashable {
        let origin: Origin
        let role: Role
    }

    /// What a server has told of itself.
    private struct Server {
        let clock: ServerClock
        var nonce: String?
        /// When it named the nonce, the same one again too.
        var heardAt: ContinuousClock.Instant?
    }

    /// How long a nonce is taken for good: servers that change them do so every minute or less often.
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
    /// The JOSE header, which is the same in every proof.
    private let header: String
    private let servers = Mutex<[Place: Server]>([:])

    /// The thumbprint of the public key (RFC 7638): what tokens are bound to (`jkt`).
    public let thumbprint: String

    /// Proves possession of a key.
    ///
    /// - Parameters:
    ///   - key: signs the proofs; servers know it by its public half, which stands in each.
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

    /// Makes a proof for one request (RFC 9449 §4.2), with a `jti` that was never used before.
    ///
    /// - Parameters:
    ///   - method: of the request.
    ///   - origin: whom it is for.
    ///   - target: path and query; the proof leaves the query out.
    ///   - token: the access token that the request presents; nothing for the token endpoint.
    /// - Returns: the value of the `DPoP` field.
    /// - Throws: what the cryptography library throws; not to be expected of a key that was read.
    public func proof(
        for method: HTTPMethod,
        to origin: Origin,
        _ target: String,
        presenting token: Secret? = nil
    ) throws -> String {
        let path = target == "*" ? "" : target.prefix { $0 != "?" }
        let role: Role = token == nil ? .authorizationServer : .resourceServer
        let server = servers.withLock { $0[Place(origin: origin, role: role)] }
        let now = server?.clock.now ?? clock.wallNow
        let claims = Claims(
            jti: Base64URL.random(bytes: 16),
            htm: method.rawValue,
            htu: "\(origin)\(path)",
            iat: Int(now.secondsSinceEpoch),
            ath: token.map { Base64URL.encode(SHA256.hash(data: Data($0.reveal().utf8))) },
            nonce: server?.nonce
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let input = try header + "." + Base64URL.encode(encoder.encode(claims))
        return input + "." + Base64URL.encode(try key.signature(of: Array(input.utf8)))
    }

    /// Learns from an answer, whatever its status: the nonce for the next proof (RFC 9449 §8.2), and
    /// the server's clock.
    public func learn(from headers: HTTPHeaders, of origin: Origin, as role: Role) {
        let nonce = headers[.dpopNonce].flatMap { ProofOfPossession.isNonce($0) ? $0 : nil }
        guard nonce != nil || headers.contains(HTTPFieldName.date) else { return }
        let server = servers.withLock { servers in
            let place = Place(origin: origin, role: role)
            var server = servers[place] ?? Server(clock: ServerClock(clock: clock))
            if let nonce { (server.nonce, server.heardAt) = (nonce, clock.now) }
            servers[place] = server
            return server
        }
        server.clock.learn(from: headers)
    }

    /// Whether an API that wants nonces has not named one for a while, and so may refuse the next proof.
    func mayLackNonce(for origin: Origin) -> Bool {
        let place = Place(origin: origin, role: .resourceServer)
        guard let heardAt = servers.withLock({ $0[place]?.heardAt }) else { return false }
        return clock.now - heardAt >= ProofOfPossession.nonceTrust
    }

    /// Whether a server's `error` is about the proof and not about what was presented with it:
    /// nothing was judged, and another proof may do.
    static func isAtFault(_ error: String?) -> Bool {
        error == "use_dpop_nonce" || error == "invalid_dpop_proof"
    }

    /// Visible ASCII without quotes and backslashes (RFC 9449 §8.1), of a length that fits a field.
    private static func isNonce(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}

/// A token with the proof that goes with it to the API.
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
