/// The facts about an exchange other than its messages; interceptors and the transport write it, the log
/// reads it.
public struct RequestContext: Sendable {
    /// The ID of the exchange in the log; the daemon also sends it as `X-Request-Id`.
    public var requestID: String
    /// The deadline of the whole exchange.
    public var deadline: ContinuousClock.Instant? {
        get { limit?.instant }
        set { limit = newValue.map { Limit($0, nil) } }
    }
    /// The condition that is checked immediately before the request is written; if it fails, no byte is sent.
    package private(set) var sendCondition: SendCondition?
    /// The setting that determined the deadline, for the error message of a timeout.
    package var deadlineSetting: TimeSetting? { limit?.setting }
    /// Whether there is a deadline; cheaper than a copy of the deadline.
    package var hasDeadline: Bool { limit != nil }
    /// The number of attempts.
    public var attempts = 0
    /// The maximum number of attempts after the first one; `nil` leaves the limit to the policy.
    public var retryLimit: Int?
    /// The reason for each attempt after the first, or `budgetExhausted` if one was denied.
    public var retries: [RetryReason] = []
    /// The redirects of the call, in order; only the last one may not have been followed.
    public internal(set) var redirects: [Redirect] = []
    /// The facts of each attempt before the last one.
    public internal(set) var earlierAttempts: [AttemptFacts] = []
    /// The facts about the credential, if one was needed.
    public var authorization: AuthorizationFacts?
    /// The durations of the phases of the last attempt.
    public var timings = Timings()
    /// The destination of the last attempt, if it differs from that of the request.
    public var destination: Destination?
    /// Address and port of the last attempt's connection.
    public var upstreamAddress: String?
    /// Whether the last attempt used a pooled connection.
    public var isConnectionReused = false
    /// Whether the next attempt requires a new connection, because the last pooled one was dead.
    public var requiresFreshConnection = false
    /// The status of the last attempt.
    public var upstreamStatus: HTTPStatus?
    /// The HTTP version of the last response, for the log and `Via`.
    package var version = HTTPVersion.http11
    /// Called with each interim response (1xx except 100 and 101) before the final one.
    public var onInformational: (@Sendable (HTTPStatus, HTTPHeaders) async throws -> Void)?
    /// The number of retries before the first attempt with the current credential.
    var startOfAccount = 0
    /// The reasons for the retries with the current credential.
    var retriesOfAccount: ArraySlice<RetryReason> { retries[min(startOfAccount, retries.count)...] }
    /// The credentials that may authorize the request, as a bit set by their order.
    package var accounts = UInt64.max
    /// The preferred ones among them.
    package var preferredAccounts: UInt64 = 0
    /// The credential of the next attempt, if it serves this exchange only.
    var ownCredential: Credential?
    /// The channel's credential in the last authorized attempt; hidden wherever the response is shown.
    package internal(set) var sentCredential: Credential?
    /// The other credentials of earlier attempts.
    var earlierCredentials: [Credential] = []
    /// Finds the other sent secrets in the response; `nil` if the response is not searched.
    package var scrubbed: SecretSearch?
    /// Whether a field section of the response contained a sent secret.
    package internal(set) var hasEcho = false
    /// The sender; its requests wait for a connection in order, and the senders take turns.
    package var sender: ObjectIdentifier?
    private var limit: Limit?

    // Boxed, because the size of an instant is known at run time only. An inline instant would make every
    // access to
    // a context indirect.
    private final class Limit: Sendable {
        let instant: ContinuousClock.Instant
        let setting: TimeSetting?

        init(_ instant: ContinuousClock.Instant, _ setting: TimeSetting?) {
            self.instant = instant
            self.setting = setting
        }
    }

    /// A condition that must hold when a request is written.
    ///
    /// A reference type, so that the many requests without a condition copy nothing for it.
    package final class SendCondition: Sendable {
        /// Whether the condition holds.
        package let holds: @Sendable () -> Bool

        init(_ holds: @escaping @Sendable () -> Bool) { self.holds = holds }
    }

    /// Creates the context of an exchange.
    public init(requestID: String = "", deadline: ContinuousClock.Instant?) {
        self.requestID = requestID
        self.deadline = deadline
    }

    /// Creates the context of an exchange without a deadline.
    public init(requestID: String = "") {
        self.requestID = requestID
    }
}

extension RequestContext {
    /// Sets the deadline, and the setting that determined it.
    package mutating func setDeadline(_ deadline: ContinuousClock.Instant, by setting: TimeSetting)
    {
        limit = Limit(deadline, setting)
    }

    /// Creates the context of an exchange whose request is written only if a condition holds at that moment.
    ///
    /// The condition is checked after the connection is available.
    package init(
        deadline: ContinuousClock.Instant,
        sendingIf condition: @escaping @Sendable () -> Bool
    ) {
        self.init(deadline: deadline)
        sendCondition = SendCondition(condition)
    }

    /// The destination of an attempt, if the transport selected it among several upstreams or none.
    public final class Destination: Sendable {
        /// The origin of the attempt.
        public let origin: Origin
        /// The path and query of the sent request.
        public let target: String

        /// Creates a destination.
        public init(origin: Origin, target: String) {
            self.origin = origin
            self.target = target
        }
    }
}

/// The reason why a request was sent again.
@nonexhaustive
public enum RetryReason: Sendable, Hashable, CustomStringConvertible {
    /// The server responded to a token with 401, and the token has been replaced.
    case unauthorized
    /// The server responded to a proof of possession (DPoP) with 401, and a new proof was made.
    case proof
    /// The server refused the time of a signature, and a new one was made with the server's time.
    case clockSkew
    /// The connection failed.
    case fault(ErrorKind)
    /// The channel retries responses with this status.
    case status(HTTPStatus)
    /// The redirect was followed.
    case redirect(HTTPStatus)
    /// No attempt followed, because the channel had exhausted its retry budget.
    case budgetExhausted

    /// The word in the log, such as `unauthorized`, `connection_terminated`, `status_503` or
    /// `redirect_302`.
    public var description: String {
        switch self {
        case .unauthorized: "unauthorized"
        case .proof: "dpop_proof"
        case .clockSkew: "clock_skew"
        case .fault(let kind): kind.rawValue
        case .status(let status): "status_\(status)"
        case .redirect(let status): "redirect_\(status)"
        case .budgetExhausted: "retry_budget_exhausted"
        }
    }
}

/// The facts about the credential of an exchange, without the secret.
public struct AuthorizationFacts: Sendable {
    /// The value of `Authorizing.kind`.
    public var kind: String
    /// The name of the identity; `nil` for a credential without a name.
    package var identity: String?
    /// The number of the last sent token in its grant family.
    public var generation: Int?
    /// The age of that token when it was sent, in whole nanoseconds.
    public var age: Duration? {
        get { ageTaken.value }
        set { ageTaken.value = newValue }
    }
    /// Whether a replay of this exchange used another token.
    public var isRefreshed = false
    /// The time that this exchange waited for tokens, in whole nanoseconds; `nil` if it did not wait.
    ///
    /// A verdict on a 401 within less than a millisecond does not count as a wait.
    public var wait: Duration? {
        get { waitTaken.value }
        set { waitTaken.value = newValue }
    }
    /// Whether the client's own credential was replaced.
    package var overrodeClient = false
    /// The reason why no replay followed a 401.
    public var notReplayed: NotReplayed?
    private var ageTaken = MeasuredTime()
    private var waitTaken = MeasuredTime()

    /// Adds the time since `start`.
    mutating func addWait(since start: ContinuousClock.Instant, on clock: any NetworkClock) {
        wait = (wait ?? .zero) + (clock.now - start)
    }

    /// Creates the facts for a kind of credential.
    public init(kind: String) {
        self.kind = kind
    }
}

/// A redirect in response to a call.
public struct Redirect: Sendable, Hashable {
    /// The status of the redirect.
    public let status: HTTPStatus
    /// The URL of the redirected request.
    public let source: String
    /// The `Location` field; an absolute URL if the redirect was followed.
    public let location: String
    /// The reason why the redirect was not followed, as a clause; `nil` if it was followed.
    public let refusal: String?
}
