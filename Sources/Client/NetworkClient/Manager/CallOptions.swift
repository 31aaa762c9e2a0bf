/// What one call does differently from its channel; the defaults change no behaviour.
public struct CallOptions: Sendable {
    /// Interceptors of this call, inside of the channel's.
    public var interceptors: [any RequestInterceptor] = []
    /// How long the whole call may take; it wins over the endpoint and the channel.
    public var timeout: Duration?
    /// Decodes the content; it wins over the endpoint and the channel.
    public var decoder: (any ContentDecoding)?
    /// Which responses count as a success; it wins over the endpoint and the channel.
    public var validation: SuccessRule?
    /// Whether the request carries the credential; it wins over the endpoint.
    public var authorization: AuthorizationRequirement?
    /// Which redirects are followed; it wins over the channel.
    public var redirects: RedirectPolicy?
    /// How many attempts may follow the first one; `nil` leaves that to the channel.
    ///
    /// Zero repeats none. What is repeated, and within which budget, is the channel's in any case;
    /// where that has no retries, this has no effect. The replay after a 401 does not count.
    public var retries: Int?
    /// The largest content that is kept in memory, in bytes; it wins over the channel.
    public var contentLimit: Int?
    /// Told of every piece that goes out or comes in, on the executor that moves it; where a request
    /// is sent again, its content counts from the start again.
    public var progress: (@Sendable (TransferProgress) -> Void)?

    /// As the channel does.
    public init() {}

    /// Changes what is named.
    ///
    /// - Parameters:
    ///   - timeout: how long the whole call may take.
    ///   - interceptors: interceptors of this call, inside of the channel's.
    ///   - decoder: decodes the content.
    ///   - validation: which responses count as a success.
    ///   - authorization: whether the request carries the credential.
    ///   - redirects: which redirects are followed.
    ///   - retries: how many attempts may follow the first one.
    ///   - contentLimit: the largest content that is kept in memory, in bytes.
    ///   - progress: told of every piece that goes out or comes in.
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
    /// Which way the content moves.
    public enum Direction: String, Sendable, Hashable {
        /// The content of the request.
        case upload
        /// The content of the response.
        case download
    }

    /// Which way the content moves.
    public let direction: Direction
    /// How many bytes have moved, those of an earlier part of a download included.
    public let transferred: Int
    /// How many bytes there are in all, where that is known.
    public let total: Int?

    /// Describes how far a transfer is.
    public init(direction: Direction, transferred: Int, total: Int?) {
        self.direction = direction
        self.transferred = transferred
        self.total = total
    }

    /// From 0 to 1, where the total is known.
    public var fraction: Double? {
        total.map { $0 == 0 ? 1 : Double(transferred) / Double($0) }
    }
}
