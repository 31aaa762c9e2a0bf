/// The differences of one call from its channel; the defaults change no behavior.
public struct CallOptions: Sendable {
    /// Interceptors of this call, inside of the channel's.
    public var interceptors: [any RequestInterceptor] = []
    /// The maximum duration of the whole call; it overrides the endpoint and the channel.
    public var timeout: Duration?
    /// Decodes the content; it overrides the endpoint and the channel.
    public var decoder: (any ContentDecoding)?
    /// The responses that count as a success; it overrides the endpoint and the channel.
    public var validation: SuccessRule?
    /// Whether the request carries the credential; it overrides the endpoint.
    public var authorization: AuthorizationRequirement?
    /// The redirects that are followed; it overrides the channel.
    public var redirects: RedirectPolicy?
    /// The number of attempts that may follow the first one; `nil` leaves that to the channel.
    ///
    /// Zero allows none. The channel still decides which failures are repeated, and within which budget; if
    /// it has no retries, this property has no effect. The replay after a 401 does not count.
    public var retries: Int?
    /// The largest content that is kept in memory, in bytes; it overrides the channel.
    public var contentLimit: Int?
    /// Called for every piece that is sent or received, on the executor that moves it; if a request is sent
    /// again, its content counts from the start again.
    public var progress: (@Sendable (TransferProgress) -> Void)?

    /// Changes no behavior of the channel.
    public init() {}

    /// Changes the named properties.
    ///
    /// - Parameters:
    ///   - timeout: the maximum duration of the whole call.
    ///   - interceptors: interceptors of this call, inside of the channel's.
    ///   - decoder: decodes the content.
    ///   - validation: the responses that count as a success.
    ///   - authorization: whether the request carries the credential.
    ///   - redirects: the redirects that are followed.
    ///   - retries: the number of attempts that may follow the first one.
    ///   - contentLimit: the largest content that is kept in memory, in bytes.
    ///   - progress: called for every piece that is sent or received.
    public init(
        timeout: Duration? = nil,
        interceptors: [any RequestInterceptor] = [],
        decoder: (any ContentDecoding)? = nil,
        validation: SuccessRule? = nil,
        authorization: AuthorizationRequirement? = nil,
        redirects: RedirectPolicy? = nil,
        retries: Int? = nil,
        contentLimit: Int? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) {
        self.interceptors = interceptors
        self.timeout = timeout
        self.decoder = decoder
        self.validation = validation
        self.authorization = authorization
        self.redirects = redirects
        self.retries = retries
        self.contentLimit = contentLimit
        self.progress = progress
    }
}

extension CallOptions {
    /// Returns response content that reports its progress, if the call wants reports.
    func metered(_ body: HTTPBody) -> HTTPBody {
        progress.map { MeteredBody.download(body, $0) } ?? body
    }
}

/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The direction of the content.
    public enum Direction: String, Sendable, Hashable {
        /// The content of the request.
        case upload
        /// The content of the response.
        case download
    }

    /// The direction of the content.
    public let direction: Direction
    /// The number of transferred bytes, including those of an earlier part of a download.
    public let transferred: Int
    /// The total number of bytes, if it is known.
    public let total: Int?

    /// Describes how far a transfer is.
    public init(direction: Direction, transferred: Int, total: Int?) {
        self.direction = direction
        self.transferred = transferred
        self.total = total
    }

    /// The progress from 0 to 1, if the total is known.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(transferred) / Double($0) }
    }
}
