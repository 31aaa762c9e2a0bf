import FoundationEssentials
import Synchronization

/// The credential in one attempt.
///
/// Created once per token and then passed on by reference, because every attempt reads one.
public struct Credential: Sendable {
    private final class Facts: Sendable, CustomReflectable {
        let name: HTTPFieldName
        let value: Secret
        /// The value without its scheme.
        let bare: Secret
        /// The complete field, shared by all requests.
        let field: HTTPHeaders
        let generation: Int?
        let issuedAt: ContinuousClock.Instant?
        /// Whether `issuedAt` is set; reading an instant costs more, because its size is known at run time
        /// only.
        let isDated: Bool
        let traits: Traits
        let proof: (any CredentialProof)?
        let signing: Signing?
        let isPerRequest: Bool
        let isProven = Atomic(false)
        // A lock, because AtomicLazyReference looks its type's metadata up at every load.
        let echoes = Mutex<SecretSearch?>(nil)
        /// Omits the field, which would show the value.
        var customMirror: Mirror { Mirror(self, children: ["name": name, "value": value]) }

        init(
            _ name: HTTPFieldName,
            _ value: Secret,
            _ generation: Int?,
            _ issuedAt: ContinuousClock.Instant?,
            traits: Traits = [],
            proof: (any CredentialProof)? = nil,
            signing: Signing? = nil
        ) {
            self.name = name
            self.value = value
            bare = name == .authorization ? Credential.withoutScheme(value) : value
            var field = HTTPHeaders()
            field.append(name, validated: value.reveal())
            self.field = field
            self.generation = generation
            self.issuedAt = issuedAt
            isDated = issuedAt != nil
            self.traits = traits
            self.proof = proof
            self.signing = signing
            isPerRequest = proof != nil || signing != nil
        }
    }

    /// The limits on the use of a token.
    private struct Traits: OptionSet {
        let rawValue: UInt8

        static let forOneUse = Traits(rawValue: 1)
        static let mayPredateRefusal = Traits(rawValue: 2)
    }

    /// The signer of requests, for a credential without a value, and the texts that must not be shown.
    private struct Signing: Sendable {
        let signer: any RequestSigning
        let secrets: [Secret]
    }

    private let facts: Facts

    /// The name of the field that carries the credential.
    public var name: HTTPFieldName { facts.name }
    /// The value of the field, including the scheme.
    public var value: Secret { facts.value }
    /// The value without its authentication scheme: the token, or an unchanged key.
    package var bare: Secret { facts.bare }
    /// The complete field, ready to be added to requests.
    var field: HTTPHeaders { facts.field }
    /// The number of the token in its manager; `nil` for a credential that never changes.
    public var generation: Int? { facts.generation }
    /// The time of issue.
    public var issuedAt: ContinuousClock.Instant? { facts.issuedAt }
    /// Returns the age; `nil` for a credential without a time of issue.
    func age(by clock: any NetworkClock) -> Duration? {
        guard facts.isDated, let issuedAt = facts.issuedAt else { return nil }
        return clock.now - issuedAt
    }
    /// Whether the credential serves only the requests that waited for it.
    package var isForOneUse: Bool { facts.traits.contains(.forOneUse) }
    /// Whether the credential may have been issued before its predecessor was refused, and revoked together
    /// with it.
    ///
    /// If so, a renewal may still help after the replay is refused as well.
    package var mayPredateRefusal: Bool { facts.traits.contains(.mayPredateRefusal) }

    /// The proof that accompanies the credential in each request; `nil` if it needs none.
    var proof: (any CredentialProof)? { facts.proof }
    /// The signer of each request; `nil` for a credential with a value in a field.
    package var signing: (any RequestSigning)? { facts.signing?.signer }
    /// Whether each request needs a proof or a signature in addition to the value.
    var isPerRequest: Bool { facts.isPerRequest }
    /// Whether each request with the credential needs a proof.
    package var isBound: Bool { facts.proof != nil }

    /// The texts that must not be shown: the value of the field and its parts.
    package var secrets: [Secret] {
        if let signing = facts.signing { return signing.secrets }
        let parts = parts
        return parts.first == value ? parts : [value] + parts
    }

    /// Finds the secrets in a response.
    ///
    /// Created for the first response to a request with the credential.
    package var echoes: SecretSearch {
        facts.echoes.withLock { echoes in
            if let echoes { return echoes }
            let secrets = facts.signing?.secrets ?? parts
            let search = SecretSearch(secrets, ofAtLeast: SecretSearch.shortestRemoved)
            echoes = search
            return search
        }
    }

    /// The value without its scheme, and the two parts of a Basic credential as the server decodes them.
    private var parts: [Secret] {
        let value = value.reveal()
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let last = words.last else { return [self.value] }
        var parts = [Secret(String(last))]
        if words[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(last)) {
            let pair = String(decoding: bytes, as: UTF8.self)
            parts.append(Secret(pair))
            if let colon = pair.firstIndex(of: ":") {
                parts.append(Secret(String(pair[pair.index(after: colon)...])))
            }
        }
        return parts
    }

    /// Returns the text after the scheme in `Authorization` (RFC 9110 §11.4).
    private static func withoutScheme(_ value: Secret) -> Secret {
        let words = value.reveal().split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return value }
        return Secret(String(words[1].drop { $0 == " " }))
    }

    /// Whether a request with the credential got a response other than a refusal.
    public var isProven: Bool { facts.isProven.load(ordering: .relaxed) }

    /// Records that a request with the credential was not refused; returns whether this is the first time.
    package func prove() -> Bool { !facts.isProven.exchange(true, ordering: .relaxed) }

    /// Clears the proof, so the next request that is not refused proves the credential again.
    package func unprove() { facts.isProven.store(false, ordering: .relaxed) }

    /// Creates a credential; returns `nil` if the value is not valid in a field (RFC 9110 §5.5).
    public init?(
        _ name: HTTPFieldName,
        _ value: Secret,
        generation: Int? = nil,
        issuedAt: ContinuousClock.Instant? = nil
    ) {
        guard !value.isEmpty, Grammar.isFieldValue(value.reveal()) else { return nil }
        facts = Facts(name, value, generation, issuedAt)
    }

    /// Creates a credential that signs each request as a whole.
    ///
    /// - Parameters:
    ///   - signer: the signer.
    ///   - name: the field that carries the signature.
    ///   - secrets: the texts that must be hidden wherever a response is shown.
    ///   - generation: the number of the credential in its manager.
    ///   - issuedAt: the time of issue.
    package init(
        signing signer: any RequestSigning,
        named name: HTTPFieldName = .authorization,
        secrets: [Secret],
        generation: Int?,
        issuedAt: ContinuousClock.Instant?
    ) {
        let signing = Signing(signer: signer, secrets: secrets)
        facts = Facts(name, Secret(""), generation, issuedAt, signing: signing)
    }

    /// Returns the same credential with a number in a sequence of credentials.
    package func numbered(_ generation: Int) -> Credential {
        Credential(
            facts: Facts(
                name,
                value,
                generation,
                issuedAt,
                traits: facts.traits,
                proof: facts.proof,
                signing: facts.signing
            )
        )
    }

    private init(facts: Facts) {
        self.facts = facts
    }

    /// Creates the credential of an access token; returns `nil` if the value is not valid in a field.
    ///
    /// - Parameters:
    ///   - value: the value of the `Authorization` field.
    ///   - generation: the number of the token in its manager.
    ///   - issuedAt: the time of issue.
    ///   - isForOneUse: whether the token serves only the requests that waited for it.
    ///   - mayPredateRefusal: whether the token was requested for a reason other than a refusal.
    ///   - proof: the proof that accompanies the credential in each request.
    package init?(
        accessToken value: Secret,
        generation: Int,
        issuedAt: ContinuousClock.Instant,
        isForOneUse: Bool,
        mayPredateRefusal: Bool,
        proof: (any CredentialProof)?
    ) {
        guard Grammar.isFieldValue(value.reveal()) else { return nil }
        var traits: Traits = []
        if isForOneUse { traits.insert(.forOneUse) }
        if mayPredateRefusal { traits.insert(.mayPredateRefusal) }
        facts = Facts(.authorization, value, generation, issuedAt, traits: traits, proof: proof)
    }
}

extension Credential: Hashable {
    /// Whether both are the same instance; two credentials with equal values are different.
    public static func == (one: Credential, other: Credential) -> Bool {
        one.facts === other.facts
    }

    /// Hashes the identity, like `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(facts)) }
}
