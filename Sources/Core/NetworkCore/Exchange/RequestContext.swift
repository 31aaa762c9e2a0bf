/// What is known about an exchange apart from its messages: interceptors and the transport write it, the
/// log reads it.
public struct RequestContext: Sendable {
    /// The id of the exchange in the log; the daemon sends it as `X-Request-Id`, too.
    public var requestID: String
    /// The deadline of the whole exchange.
    public var deadline: ContinuousClock.Instant? {
        get { limit?.instant }
        set { limit = newValue.map { Limit($0, nil) } }
    }
    /// Checked when the request is about to be written: if it does not hold, no byte is sent.
    package private(set) var sendCondition: SendCondition?
    /// The setting of the deadline, for the error of an exchange that it ends.
    package var deadlineSetting: TimeSetting? { limit?.setting }
    /// Whether there is a deadline; this check costs less than a copy of it.
    package var hasDeadline: Bool { limit != nil }
    /// The number of attempts.
    public var attempts = 0
    /// The number of attempts that may follow the first one; `nil` leaves that to the policy.
    public var retryLimit: Int?
    /// The reason for each attempt after the first, or `budgetExhausted` if one was denied.
    public var retries: [RetryReason] = []
    /// The redirects that the call met, in order; only the last one may not have been followed.
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
    /// Whether a pooled connection served the last attempt.
    public var isConnectionReused = false
    /// Demands a new connection for the next attempt: the pooled one before it was dead.
    public var requiresFreshConnection = false
    /// The status of the last attempt.
    public var upstreamStatus: HTTPStatus?
    /// The version of HTTP of the last response, for the log and `Via`.
    package var version = HTTPVersion.http11
    /// Gets each interim response (1xx except 100 and 101) before the final one.
    public var onInformational: (@Sendable (HTTPStatus, HTTPHeaders) async throws -> Void)?
    /// The number of retries before the first attempt with the present account.
    var startOfAccount = 0
    /// The reasons for the retries with the present account.
    var retriesOfAccount: ArraySlice<RetryReason> { retries[min(startOfAccount, retries.count)...] }
    /// The accounts that may sign the request, one bit for each, by their order.
    package var accounts = UInt64.max
    /// Those of them that come first.
    package var preferredAccounts: UInt64 = 0
    /// The credential for the next attempt, if it is for this exchange only.
    var ownCredential: Credential?
    /// The channel's credential in the last signed attempt; it is hidden wherever the response is shown.
    package internal(set) var sentCredential: Credential?
    /// The sender: its requests wait for a connection in order, and the senders take turns.
    package var sender: ObjectIdentifier?
    private var limit: Limit?

    // Boxed: the size of an instant is known at run time only, and storing one inline would make every
    // access to a context indirect.
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
    /// An object, since few requests have one: the others copy nothing for it.
    package final class SendCondition: Sendable {
        /// Whether the condition holds.
        package let holds: @Sendable () -> Bool

        init(_ holds: @escaping @Sendable () -> Bool) { self.holds = holds }
    }

    /// Starts the record of an exchange.
    public init(requestID: String = "", deadline: ContinuousClock.Instant?) {
        self.requestID = requestID
        self.deadline = deadline
    }

    /// Starts the record of an exchange without a deadline.
    public init(requestID: String = "") {
        self.requestID = requestID
    }
}

extension RequestContext {
    /// Sets the deadline by the limit that demands it.
    package mutating func setDeadline(_ deadline: ContinuousClock.Instant, by setting: TimeSetting)
    {
        limit = Limit(deadline, setting)
    }

    /// Starts the record of an exchange whose request is written only if a condition holds at that moment,
    /// however long a connection has taken.
    package init(
        deadline: ContinuousClock.Instant,
        sendingIf condition: @escaping @Sendable () -> Bool
    ) {
        self.init(deadline: deadline)
        sendCondition = SendCondition(condition)
    }

    /// The destination of an attempt, if the transport chose it: one with several upstreams, or with none.
    public final class Destination: Sendable {
        /// The origin it went to.
        public let origin: Origin
        /// Path and query, as they were sent.
        public let target: String

        /// Records a destination.
        public init(origin: Origin, target: String) {
            self.origin = origin
            self.target = target
        }
    }
}

/// The reason why a request was sent again.
@nonexhaustive
public enum RetryReason: Sendable, Hashable, CustomStringConvertible {
    /// A 401 on a token, which another has replaced since.
    case unauthorized
    /// A 401 on a proof of possession (DPoP), which was then made again.
    case proof
    /// A refusal of a signature for its time, which was then made again by the server's clock.
    case clockSkew
    /// A fault of the connection.
    case fault(ErrorKind)
    /// A status that the channel repeats.
    case status(HTTPStatus)
    /// A redirect, which was followed.
    case redirect(HTTPStatus)
    /// No attempt followed: the channel had made too many.
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

/// The facts about the credential of an exchange, without the credential.
public struct AuthorizationFacts: Sendable {
    /// The word of `Authorizing.kind`.
    public var kind: String
    /// The name of the account; `nil` for a credential without a name.
    package var identity: String?
    /// The number of the last sent token in its grant family.
    public var generation: Int?
    /// The age of that token when it was sent, in whole nanoseconds.
    public var age: Duration? {
        get { ageTaken.value }
        set { ageTaken.value = newValue }
    }
    /// Whether a replay of this exchange got another token.
    public var isRefreshed = false
    /// The time that this exchange waited for tokens, in whole nanoseconds; `nil` without a wait.
    ///
    /// A verdict on a 401 that takes less than a millisecond is no wait.
    public var wait: Duration? {
        get { waitTaken.value }
        set { waitTaken.value = newValue }
    }
    /// Whether the app's own credential was replaced.
    package var overrodeClient = false
    /// The reason why no replay followed a 401.
    public var notReplayed: NotReplayed?
    private var ageTaken = MeasuredTime()
    private var waitTaken = MeasuredTime()

    /// Adds the time since `start`.
    mutating func addWait(since start: ContinuousClock.Instant, on clock: any NetworkClock) {
        wait = (wait ?? .zero) + (clock.now - start)
    }

    /// Starts the record for a kind of credential.
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
    /// Its `Location`; resolved to a URL if it was followed.
    public let location: String
    /// The reason why the redirect was not followed, as a clause; `nil` if it was.
    public let refusal: String?
}
