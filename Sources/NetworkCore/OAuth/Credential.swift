import FoundationEssentials
import Synchronization

/// What one attempt carries to prove who sends it.
///
/// Made once per token and then passed on by reference: every attempt reads one.
public struct Credential: Sendable {
    private final class Facts: Sendable, CustomReflectable {
        let name: HTTPFieldName
        let value: Secret
        /// The field itself, which all requests share.
        let field: HTTPHeaders
        let generation: Int?
        let issuedAt: ContinuousClock.Instant?
        /// Known without a look at an instant, whose size is known at run time only.
        let isDated: Bool
        let isForOneUse: Bool
        let binding: Binding?
        let isProven = Atomic(false)
        /// Without the field, which would show the value.
        var customMirror: Mirror { Mirror(self, children: ["name": name, "value": value]) }

        init(
            _ name: HTTPFieldName,
            _ value: Secret,
            _ generation: Int?,
            _ issuedAt: ContinuousClock.Instant?,
            _ isForOneUse: Bool,
            _ binding: Binding?
        ) {
            self.name = name
            self.value = value
            var field = HTTPHeaders()
            field.append(name, validated: value.reveal())
            self.field = field
            self.generation = generation
            self.issuedAt = issuedAt
            isDated = issuedAt != nil
            self.isForOneUse = isForOneUse
            self.binding = binding
        }
    }

    /// The token by itself, and who proves possession of its key.
    struct Binding: Sendable {
        let token: Secret
        let proof: ProofOfPossession
    }

    private let facts: Facts

    /// The field it stands in.
    public var name: HTTPFieldName { facts.name }
    /// The value of that field, scheme included.
    public var value: Secret { facts.value }
    /// The field itself, to be attached to requests.
    var field: HTTPHeaders { facts.field }
    /// Which token of its manager it is; nothing for a credential that never changes.
    public var generation: Int? { facts.generation }
    /// When it was issued.
    public var issuedAt: ContinuousClock.Instant? { facts.issuedAt }
    /// How old it is; nothing for one that has no date.
    func age(by clock: any NetworkClock) -> Duration? {
        guard facts.isDated, let issuedAt = facts.issuedAt else { return nil }
        return clock.now - issuedAt
    }
    /// Whether it serves only those who waited for it.
    var isForOneUse: Bool { facts.isForOneUse }

    /// What a proof goes with it for; nothing for a credential that is enough by itself.
    var binding: Binding? { facts.binding }
    /// Whether a proof goes with it.
    var isBound: Bool { facts.binding != nil }

    /// What must not be shown of it: the value of its field, and that in its parts.
    package var secrets: [Secret] {
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

    /// Whether a request that carried it was answered with something else than a refusal.
    public var isProven: Bool { facts.isProven.load(ordering: .relaxed) }

    /// Notes that a request which carried it was not refused; returns whether that is news.
    func prove() -> Bool { !facts.isProven.exchange(true, ordering: .relaxed) }

    /// Notes that it is in doubt: the next request that is not refused is news again.
    func unprove() { facts.isProven.store(false, ordering: .relaxed) }

    /// Makes a credential; nothing if the value is unfit for a field (RFC 9110 §5.5).
    public init?(
        _ name: HTTPFieldName,
        _ value: Secret,
        generation: Int? = nil,
        issuedAt: ContinuousClock.Instant? = nil
    ) {
        guard !value.isEmpty, Grammar.isFieldValue(value.reveal()) else { return nil }
        facts = Facts(name, value, generation, issuedAt, false, nil)
    }

    /// Makes the credential of a token; nothing if that is unfit for a field.
    init?(_ token: Token) {
        let value = token.fieldValue
        guard Grammar.isFieldValue(value) else { return nil }
        facts = Facts(
            .authorization,
            Secret(value),
            token.generation,
            token.issuedAt.steady,
            token.isForOneUse,
            token.proof.map { Binding(token: token.value, proof: $0) }
        )
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

/// A 401 to an attempt that carried a credential.
public struct Rejection: Sendable {
    /// What whoever reports it is going to do.
    public enum Intent: Sendable {
        /// Send the request again, if there is a better credential.
        case replay
        /// Nothing: the body cannot be sent again. The credential is renewed all the same.
        case report
        /// Nothing: this was the replay.
        case afterReplay
    }

    /// The generation of the credential that was refused.
    public var generation: Int?
    /// The field section of the response.
    public var headers: HTTPHeaders
    /// What happens next.
    public var intent: Intent
    /// When the exchange must be over.
    public var deadline: ContinuousClock.Instant?

    /// Describes a 401.
    public init(
        generation: Int?,
        headers: HTTPHeaders,
        intent: Intent,
        deadline: ContinuousClock.Instant? = nil
    ) {
        self.generation = generation
        self.headers = headers
        self.intent = intent
        self.deadline = deadline
    }
}

/// What to do with a 401.
public enum Verdict: Sendable, Hashable {
    /// Send the request again: there is another credential now.
    case replay
    /// Send the request again with this credential: it serves the replay alone, and is not given to
    /// anybody who asks.
    case replayOnce(Credential)
    /// Send the request again with another proof of possession: the token was not judged. With this
    /// credential, where it is one that is not given to anybody who asks.
    case proveAgain(Credential?)
    /// Give the app the 401 as it is, and why.
    case passThrough(NotReplayed)
}

/// Why a 401 was not followed by a replay; the raw value is the word in the log.
public enum NotReplayed: String, Sendable, Hashable {
    /// The credential is one that is never renewed.
    case staticCredential = "static_credential"
    /// The challenge is for another scheme.
    case foreignChallenge = "foreign_challenge"
    /// `insufficient_scope` (RFC 6750 §3.1): another token of the same kind would not help.
    case insufficientScope = "insufficient_scope"
    /// `invalid_request` (RFC 6750 §3.1): the request is at fault.
    case invalidRequest = "invalid_request"
    /// `insufficient_user_authentication` (RFC 9470): a person must sign in with more proof.
    case stepUpRequired = "step_up_required"
    /// Another proof of possession was refused as well.
    case proofRefused = "proof_refused"
    /// The body was read and is too long to be kept.
    case bodyNotReplayable = "body_not_replayable"
    /// The exchange had its one replay.
    case alreadyReplayed = "already_replayed"
    /// The token was refused again right after it was renewed.
    case tokenRefusedAgain = "token_refused_again"
    /// The token endpoint gave the very same token.
    case sameToken = "same_token"
    /// Too many renewals within a short time.
    case excess = "excess"
    /// The token endpoint failed.
    case refreshFailed = "refresh_failed"
    /// A person must sign in again.
    case reauthorizationRequired = "reauthorization_required"
    /// The renewal took longer than the exchange may wait.
    case waitTimeout = "wait_timeout"
}
