import Synchronization

/// An event of a call, for loggers, metrics and tracing.
///
/// A call begins with `started` and ends with `received` or `failed`, after one `redirected` for each
/// followed
/// redirect. After `received`, `undecodable` may follow, and `ended` follows for each stream and download.
@nonexhaustive
public enum NetworkEvent: Sendable {
    /// The call begins; the request is the endpoint's, not authorized yet.
    case started(NetworkExchange)
    /// A redirect was followed.
    case redirected(NetworkExchange, Redirect)
    /// A successful response (for streams and downloads, its head).
    case received(NetworkExchange)
    /// The content of a stream or a download ended, or failed with an error; `cancelled` if its reader
    /// canceled it.
    case ended(NetworkExchange, NetworkError?)
    /// The call failed.
    case failed(NetworkExchange, NetworkError)
    /// The content is not of the requested type.
    case undecodable(NetworkExchange, NetworkError)

    /// The call of the event.
    public var exchange: NetworkExchange {
        switch self {
        case .started(let exchange), .redirected(let exchange, _), .received(let exchange),
            .ended(let exchange, _), .failed(let exchange, _), .undecodable(let exchange, _):
            exchange
        }
    }
}

/// The facts about a call, for loggers.
public struct NetworkExchange: Sendable {
    /// The description of the endpoint.
    public var endpoint: String { subject.description }
    /// The request of the endpoint, not authorized.
    public let request: Request
    /// The ID, attempts, timings and connection, as far as they are known.
    public internal(set) var context: RequestContext
    /// The status of the response.
    public internal(set) var status: HTTPStatus?
    /// The fields of the response.
    public internal(set) var headers: HTTPHeaders?
    /// The number of received bytes of content; `nil` for a stream or a download that has not `ended`.
    public internal(set) var contentLength: Int?
    /// The number of bytes of the request's content sent by the last attempt, if known.
    public var sentLength: Int? {
        if let sent { return sent.load() }
        return context.attempts > 0 && request.body.isInMemory ? request.body.length : nil
    }
    /// The number of sent bytes, for a request whose content is not in memory.
    var sent: ByteCount?
    /// The duration of the call so far.
    public internal(set) var duration = Duration.zero
    let started: ContinuousClock.Instant
    /// The endpoint, whose description is created only if there is a listener.
    private let subject: any CustomStringConvertible & Sendable

    /// Creates an exchange, for tests of loggers and hooks.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint of the call.
    ///   - request: the request of the endpoint.
    ///   - context: the facts of the exchange.
    ///   - status: the status of the response, if one arrived.
    ///   - headers: the fields of the response.
    ///   - contentLength: the number of received bytes of content.
    ///   - duration: the duration of the call so far.
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

/// A number of bytes that can be read while it grows.
final class ByteCount: Sendable {
    private let count = Atomic(0)

    func load() -> Int { count.load(ordering: .relaxed) }
    func store(_ count: Int) { self.count.store(count, ordering: .relaxed) }
}

/// A logger for the events of a channel; called on the executor of the call, so it must not block.
public protocol NetworkLogger: Sendable {
    /// Logs an event.
    func log(_ event: NetworkEvent)
}
