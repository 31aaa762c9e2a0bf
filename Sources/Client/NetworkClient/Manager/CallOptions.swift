/// The settings of one call that differ from its channel; the defaults change nothing.
public struct CallOptions: Sendable {
    /// The interceptors of this call, inside the channel's.
    public var interceptors: [any RequestInterceptor] = []
    /// The maximum duration of the whole call; it overrides the endpoint and the channel.
    public var timeout: Duration?
    /// The maximum time without a byte of the response's content; it overrides the endpoint and the channel.
    public var stallTimeout: Duration?
    /// The decoder of the content; it overrides the endpoint and the channel.
    public var decoder: (any ContentDecoding)?
    /// The responses that count as a success; it overrides the endpoint and the channel.
    public var validation: SuccessRule?
    /// The use of the credential; it overrides the endpoint.
    public var authorization: AuthorizationRequirement?
    /// The policy for redirects; it overrides the channel.
    public var redirects: RedirectPolicy?
    /// The maximum number of attempts after the first one; `nil` selects the channel's limit.
    ///
    /// Zero allows none. The channel still decides which failures are retried, and within which budget; if it
    /// has no
    /// retry policy, this property has no effect. The replay after a 401 does not count.
    public var retries: Int?
    /// The maximum size of content in memory, in bytes; it overrides the channel.
    public var contentLimit: Int?
    /// The limits on decompressed content; they override the channel.
    public var decompression: DecompressionLimits?
    /// The hook for the progress in both directions; called for every sent or received piece, on the executor
    /// that transfers it.
    ///
    /// If a request is sent again, the count restarts.
    public var progress: (@Sendable (TransferProgress) -> Void)?
    /// The hook for the progress of the request's content.
    public var uploadProgress: (@Sendable (TransferProgress) -> Void)?
    /// The hook for the progress of the response's content.
    public var downloadProgress: (@Sendable (TransferProgress) -> Void)?

    /// Creates options that change nothing.
    public init() {}

    /// Creates options that change some settings.
    ///
    /// - Parameters:
    ///   - timeout: the maximum duration of the whole call.
    ///   - stallTimeout: the maximum time without a byte of the response's content.
    ///   - interceptors: the interceptors of this call, inside the channel's.
    ///   - decoder: the decoder of the content.
    ///   - validation: the responses that count as a success.
    ///   - authorization: the use of the credential.
    ///   - redirects: the policy for redirects.
    ///   - retries: the maximum number of attempts after the first one.
    ///   - contentLimit: the maximum size of content in memory, in bytes.
    ///   - progress: the hook for every sent or received piece.
    ///   - uploadProgress: the hook for every sent piece.
    ///   - downloadProgress: the hook for every received piece.
    public init(
        timeout: Duration? = nil,
        stallTimeout: Duration? = nil,
        interceptors: [any RequestInterceptor] = [],
        decoder: (any ContentDecoding)? = nil,
        validation: SuccessRule? = nil,
        authorization: AuthorizationRequirement? = nil,
        redirects: RedirectPolicy? = nil,
        retries: Int? = nil,
        contentLimit: Int? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        uploadProgress: (@Sendable (TransferProgress) -> Void)? = nil,
        downloadProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) {
        self.interceptors = interceptors
        self.timeout = timeout
        self.stallTimeout = stallTimeout
        self.decoder = decoder
        self.validation = validation
        self.authorization = authorization
        self.redirects = redirects
        self.retries = retries
        self.contentLimit = contentLimit
        self.progress = progress
        self.uploadProgress = uploadProgress
        self.downloadProgress = downloadProgress
    }
}

extension CallOptions {
    /// The hooks for the request's content, as one.
    var sendReport: (@Sendable (TransferProgress) -> Void)? {
        CallOptions.both(progress, uploadProgress)
    }

    /// The hooks for the response's content, as one.
    var receiveReport: (@Sendable (TransferProgress) -> Void)? {
        CallOptions.both(progress, downloadProgress)
    }

    /// Returns response content that reports its progress, if the call has a hook.
    func metered(_ body: HTTPBody) -> HTTPBody {
        receiveReport.map { MeteredBody.download(body, $0) } ?? body
    }

    private static func both(
        _ first: (@Sendable (TransferProgress) -> Void)?,
        _ second: (@Sendable (TransferProgress) -> Void)?
    ) -> (@Sendable (TransferProgress) -> Void)? {
        guard let first, let second else { return first ?? second }
        return { progress in
            first(progress)
            second(progress)
        }
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
    /// The total number of bytes, if known.
    public let total: Int?

    /// Creates a progress report.
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
