import Synchronization

/// An event of a call, for loggers, metrics and tracing.
///
/// A call begins with `started` and ends with `received` or `failed`, before which `redirected` tells of
/// each redirect that was followed. After `received`, `undecodable` may follow, and `ended` follows for each
/// stream and download.
@nonexhaustive
public enum NetworkEvent: Sendable {
    /// The call begins: the request is as the endpoint describes it, not signed yet.
    case started(NetworkExchange)
    /// A redirect was followed.
    case redirected(NetworkExchange, Redirect)
    /// A response came and is a success; for a stream or a download, its head.
    case received(NetworkExchange)
    /// The content of a stream or a download ended, or broke off with an error; `cancelled` if its reader
    /// gave it up.
    case ended(NetworkExchange, NetworkError?)
    /// The call ended without a success.
    case failed(NetworkExchange, NetworkError)
    /// The content is not the requested one.
    case undecodable(NetworkExchange, NetworkError)

    /// The call that it happened to.
    public var exchange: NetworkExchange {
        switch self {
        case .started(let exchange), .redirected(let exchange, _), .received(let exchange),
            .ended(let exchange, _), .failed(let exchange, _), .undecodable(let exchange, _):
            exchange
        }
    }
}

/// A call as loggers see it.
public struct NetworkExchange: Sendable {
    /// The endpoint, in its own words.
    public var endpoint: String { subject.description }
    /// The request as the endpoint describes it, not signed.
    public let request: Request
    /// Its id, attempts, timings and connection, as far as they are known.
    public internal(set) var context: RequestContext
    /// The status of the response.
    public internal(set) var status: HTTPStatus?
    /// The fields of the response.
    public internal(set) var headers: HTTPHeaders?
    /// How many bytes of content came; `nil` for a stream or a download, whose content is still to
    /// come, before it has `ended`.
    public internal(set) var contentLength: Int?
    /// The number of bytes of the request's content that the last attempt sent, if it is known.
    public var sentLength: Int? {
        if let sent { return sent.load() }
        return context.attempts > 0 && request.body.isInMemory ? request.body.length : nil
    }
    /// Counts the sent bytes of a request whose content is not in memory.
    var sent: ByteCount?
    /// The duration of the call so far.
    public internal(set) var duration = Duration.zero
    let started: ContinuousClock.Instant
    /// Described only if there is a listener.
    private let subject: any CustomStringConvertible & Sendable

    /// Describes an exchange, for tests of loggers and hooks.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint of the call.
    ///   - request: as the endpoint describes it.
    ///   - context: the facts of the exchange.
    ///   - status: of the response, if one came.
    ///   - headers: its fields.
    ///   - contentLength: how many bytes of content came.
    ///   - duration: how long the call took so far.
    public init(
        of endpoint: any CustomStringConvertible & Sendable,
        request: Request,
        context: RequestContext = RequestContext(),
        status: HTTPStatus? = nil,
        headers: HTTPHeaders? = nil,
        contentLength: Int? = nil,
        duration: Duration = .zero
    ) {
        self.init(endpoint, request: request, context: context, started: .now)
        self.status = status
        self.headers = headers
        self.contentLength = contentLength
        self.duration = duration
    }

    init(
        _ subject: any CustomStringConvertible & Sendable,
        request: Request,
        context: RequestContext,
        started: ContinuousClock.Instant
    ) {
        self.subject = subject
        self.request = request
        self.context = context
        self.started = started
    }
}

/// A number of bytes that grows while it is looked at.
final class ByteCount: Sendable {
    private let count = Atomic(0)

    func load() -> Int { count.load(ordering: .relaxed) }
    func store(_ count: Int) { self.count.store(count, ordering: .relaxed) }
}

/// Records the events of a channel; called on the executor of the call, so it must not block.
public protocol NetworkLogger: Sendable {
    /// Records an event.
    func log(_ event: NetworkEvent)
}
