import FoundationEssentials
import Synchronization

/// The proof in one attempt of the sender's identity.
///
/// Made once per token and then passed on by reference: every attempt reads one.
public struct Credential: Sendable {
    private final class Facts: Sendable, CustomReflectable {
        let name: HTTPFieldName
        let value: Secret
        /// The value without its scheme.
        let bare: Secret
        /// The field itself, which all requests share.
        let field: HTTPHeaders
        let generation: Int?
        let issuedAt: ContinuousClock.Instant?
        /// Known without a look at an instant, whose size is known at run time only.
        let isDated: Bool
        let traits: Traits
        let proof: (any CredentialProof)?
        let signing: Signing?
        let isPerRequest: Bool
        let isProven = Atomic(false)
        /// Without the field, which would show the value.
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

    /// The limits of a token's use.
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

    /// The field it stands in.
    public var name: HTTPFieldName { facts.name }
    /// The value of that field, scheme included.
    public var value: Secret { facts.value }
    /// The value without its authentication scheme: the token, or a key as it is.
    package var bare: Secret { facts.bare }
    /// The field itself, to be attached to requests.
    var field: HTTPHeaders { facts.field }
    /// The number of the token at its manager; `nil` for a credential that never changes.
    public var generation: Int? { facts.generation }
    /// The time of issue.
    public var issuedAt: ContinuousClock.Instant? { facts.issuedAt }
    /// The age; `nil` for a credential without a date.
    func age(by clock: any NetworkClock) -> Duration? {
        guard facts.isDated, let issuedAt = facts.issuedAt else { return nil }
        return clock.now - issuedAt
    }
    /// Whether it serves only those who waited for it.
    package var isForOneUse: Bool { facts.traits.contains(.forOneUse) }
    /// Whether it may have been issued before the credential that it replaces was refused, and was then
    /// revoked with it: if the replay with it is refused as well, a renewal may still help.
    package var mayPredateRefusal: Bool { facts.traits.contains(.mayPredateRefusal) }

    /// The proof that accompanies the credential in each request; `nil` if it needs none.
    var proof: (any CredentialProof)? { facts.proof }
    /// The signer of each request; `nil` for a credential with a value in a field.
    package var signing: (any RequestSigning)? { facts.signing?.signer }
    /// Whether each request is made ready by more than the value: by a proof, or by a signature.
    var isPerRequest: Bool { facts.isPerRequest }
    /// Whether a proof goes with it.
    package var isBound: Bool { facts.proof != nil }

    /// The texts that must not be shown: the value of the field, and its parts.
    package var secrets: [Secret] {
        if let signing = facts.signing { return signing.secrets }
        let value = value.reveal()
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let last = words.last else { return [self.value] }
        var secrets = [self.value, Secret(String(last))]
        if words[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(last)) {
            let pair = String(decoding: bytes, as: UTF8.self)
            secrets.append(Secret(pair))
            if let colon = pair.firstIndex(of: ":") {
                secrets.append(Secret(String(pair[pair.index(after: colon)...])))
            }
        }
        return secrets
    }

    /// The text after the scheme in `Authorization` (RFC 9110 §11.4).
    private static func withoutScheme(_ value: Secret) -> Secret {
        let words = value.reveal().split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return value }
        return Secret(String(words[1].drop { $0 == " " }))
    }

    /// Whether a request that carried it was answered with something else than a refusal.
    public var isProven: Bool { facts.isProven.load(ordering: .relaxed) }

    /// Notes that a request which carried it was not refused; returns whether that is news.
    package func prove() -> Bool { !facts.isProven.exchange(true, ordering: .relaxed) }

    /// Notes that it is in doubt: the next request that is not refused is news again.
    package func unprove() { facts.isProven.store(false, ordering: .relaxed) }

    /// Makes a credential; nothing if the value is unfit for a field (RFC 9110 §5.5).
    public init?(
        _ name: HTTPFieldName,
        _ value: Secret,
        generation: Int? = nil,
        issuedAt: ContinuousClock.Instant? = nil
    ) {
        guard !value.isEmpty, Grammar.isFieldValue(value.reveal()) else { return nil }
        facts = Facts(name, value, generation, issuedAt)
    }

    /// Makes a credential that signs each request as a whole.
    ///
    /// - Parameters:
    ///   - signer: signs.
    ///   - name: the field that the signature stands in.
    ///   - secrets: the texts that must not be shown wherever a response is.
    ///   - generation: which credential of its manager it is.
    ///   - issuedAt: when it was issued.
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

    /// The same as one of several, which follow each other.
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

    /// Makes the credential of an access token; `nil` if the value is unfit for a field.
    ///
    /// - Parameters:
    ///   - value: of the `Authorization` field.
    ///   - generation: which token of its manager it is.
    ///   - issuedAt: when it was issued.
    ///   - isForOneUse: whether it serves only the requests that waited for it.
    ///   - mayPredateRefusal: whether it was not requested because of a refusal.
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
    /// Whether both are the same one, made once; that two say the same does not count.
    public static func == (one: Credential, other: Credential) -> Bool {
        one.facts === other.facts
    }

    /// By identity, like `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(facts)) }
}
