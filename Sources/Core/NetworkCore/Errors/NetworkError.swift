public import FoundationEssentials

/// A failed exchange: the failure, the side at fault, and whether a retry is safe.
///
/// A response that was no success is kept with it: status, fields and the beginning of the content.
public struct NetworkError: Error, Sendable, CustomStringConvertible {
    /// Whose side the fault is on.
    public enum Side: String, Sendable {
        /// The server's, or the network's on the way to it.
        case upstream
        /// The caller's.
        case downstream
        /// This process's own.
        case proxy
    }

    /// Whether sending the request again can do no harm.
    public enum RetrySafety: Sendable {
        /// The server cannot have acted on any part of the request.
        case safe
        /// Sent on a pooled connection that the peer may have closed before it saw the request:
        /// safe on a fresh connection if the method is idempotent.
        case idempotentOnly
        /// The request may have been acted on, or its body is spent.
        case unsafe
    }

    /// The part of the chain that threw an error first.
    @nonexhaustive
    public enum Source: Sendable, Hashable {
        /// Outside of a chain.
        case unknown
        /// The transport.
        case transport
        /// The interceptor of this type.
        case interceptor(String)

        /// The name as text.
        var name: String {
            switch self {
            case .unknown: "the call"
            case .transport: "the transport"
            case .interceptor(let name): name
            }
        }
    }

    /// The request of a failed call, as far as it identifies the call; the path is unchanged.
    public struct Asked: Sendable, Hashable, CustomStringConvertible {
        /// The method.
        public let method: HTTPMethod
        /// The URL with the names of its query's parameters, but without their values:
        /// `https://api.example.com/orders?page&sort`.
        public let url: String

        /// Method and URL.
        public var description: String { "\(method.rawValue) \(url)" }
    }

    /// The kind of failure.
    public let kind: ErrorKind
    /// Whose side the fault is on.
    public let side: Side
    /// Whether a retry is safe.
    public let retry: RetrySafety
    /// One clause that an operator can act on, without secrets.
    public let detail: String
    /// The status for an answer of netproxy's own, where the kind leaves a choice.
    package var ownStatus: HTTPStatus?
    /// When to try again, in seconds, where that is known.
    public var retryAfter: Int?
    /// The response, where one came and was no success.
    public var response: FailedResponse?
    /// What was asked, in an error that a manager's method or feed throws.
    ///
    /// `nil` where no request could be made, and in what is thrown later: by `decode`, or by the
    /// sequences of a `ResponseStream`. The description leaves it out.
    public package(set) var request: Asked?
    /// The part of the chain that threw the error first.
    public var source = Source.unknown
    /// The error of another library, where it came from one.
    public var underlying: (any Error)?
    /// Where an interrupted download can go on.
    public var resumePoint: ResumePoint?

    /// Records a failure.
    public init(
        _ kind: ErrorKind,
        side: Side,
        retry: RetrySafety = .unsafe,
        detail: String,
        retryAfter: Int? = nil
    ) {
        self.kind = kind
        self.side = side
        self.retry = retry
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Records a failure for which netproxy answers with this status.
    package init(
        _ kind: ErrorKind,
        side: Side,
        retry: RetrySafety = .unsafe,
        detail: String,
        status: HTTPStatus?,
        retryAfter: Int? = nil
    ) {
        self.init(kind, side: side, retry: retry, detail: detail, retryAfter: retryAfter)
        ownStatus = status
    }

    /// The status of the response, where one came.
    public var status: HTTPStatus? { response?.status }

    /// Whether something took too long.
    public var isTimeout: Bool {
        switch kind {
        case .dnsTimeout, .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .httpResponseTimeout:
            true
        default: false
        }
    }

    /// Whether the server could not be reached, or the connection to it broke; a timeout of one of these is
    /// both.
    public var isConnection: Bool {
        switch kind {
        case .dnsTimeout, .dnsError, .destinationUnavailable, .connectionRefused,
            .connectionTerminated, .connectionTimeout, .connectionReadTimeout,
            .connectionWriteTimeout, .tlsProtocolError, .tlsCertificateError:
            true
        default: false
        }
    }

    /// The kind and the detail.
    public var description: String { "\(kind.rawValue): \(detail)" }

    /// The name of the interceptor that threw it, if it was one.
    public var interceptor: String? {
        if case .interceptor(let name) = source { name } else { nil }
    }

    /// Whether the same request may be sent again without doing anything twice.
    public func isSafeToRetry(_ method: HTTPMethod) -> Bool {
        switch retry {
        case .safe: true
        case .idempotentOnly: method.isIdempotent
        case .unsafe: false
        }
    }

    /// The error that the server describes in the content of its response.
    ///
    /// - Parameters:
    ///   - type: the type of the content.
    ///   - decoder: instead of that of the call, the endpoint or the channel; `JSONDecoder` where
    ///     the response came without one.
    /// - Returns: the value.
    /// - Throws: `undecodable_response`, with the response if there is one.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: (any ContentDecoding)? = nil
    ) throws(NetworkError) -> Value {
        guard let response else {
            throw NetworkError(
                .undecodableResponse,
                side: side,
                detail: "there was no response: \(detail)"
            )
        }
        do {
            return try (decoder ?? response.decoder ?? JSONDecoder())
                .decode(type, from: response.content)
        } catch {
            throw response.undecodable(
                "the content of the \(response.status) is no \(type): \(ErrorReason.of(error))",
                error
            )
        }
    }

    /// Any error as a `NetworkError`; an unknown one is named only, since its text may hold anything.
    package static func of(_ error: any Error) -> NetworkError {
        if let error = error as? NetworkError { return error }
        if error is CancellationError { return .cancelled }
        var failure = NetworkError(
            .internalError,
            side: .proxy,
            detail: "the call failed with \(type(of: error))"
        )
        failure.underlying = error
        return failure
    }

    package static var cancelled: NetworkError {
        var error = NetworkError(.cancelled, side: .downstream, detail: "the caller gave up")
        error.underlying = CancellationError()
        return error
    }

    /// The request cannot be sent as it was asked for, so no server has acted on it.
    ///
    /// - Parameter detail: why; what it cites may be anything, and is cited on one line and not at any
    ///   length.
    /// - Returns: the error.
    package static func unsendable(_ detail: String) -> NetworkError {
        let start = detail.unicodeScalars.prefix(500).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        let isCut = detail.unicodeScalars.count > start.count
        return NetworkError(
            .httpRequestError,
            side: .downstream,
            retry: .safe,
            detail: String(String.UnicodeScalarView(start)) + (isCut ? "…" : "")
        )
    }

    /// The text of a transport's error; that of an unknown error may hold anything.
    package static func words(of error: any Error) -> String {
        switch error {
        case let error as NetworkError: error.description
        default: "unexpected error"
        }
    }

    /// Content without a response to keep is not what was asked for.
    package static func undecodable(_ detail: String, _ reason: any Error) -> NetworkError {
        var error = NetworkError(
            .undecodableResponse,
            side: .upstream,
            detail: "\(detail): \(ErrorReason.of(reason))"
        )
        error.underlying = reason
        return error
    }

    package static func tooLarge(limit: Int) -> NetworkError {
        NetworkError(
            .httpResponseBodySize,
            side: .upstream,
            detail: "the content is longer than the \(limit) bytes that were asked for"
        )
    }
}

extension FailedResponse {
    /// The error for content that is not what was asked for; it keeps the response.
    package func undecodable(_ detail: String, _ reason: (any Error)?) -> NetworkError {
        var error = NetworkError(.undecodableResponse, side: .upstream, detail: detail)
        error.response = self
        error.underlying = reason
        return error
    }
}

extension NetworkError: LocalizedError {
    /// The description: what `localizedDescription` says.
    public var errorDescription: String? { description }
}

extension NetworkError {
    /// Adds where an error was thrown; one that has its source keeps it.
    static func attributed(
        _ error: any Error,
        _ source: @autoclosure () -> Source
    ) -> any Error {
        guard var error = error as? NetworkError else {
            if error is CancellationError { return error }
            let source = source()
            var failure = NetworkError(
                .internalError,
                side: .proxy,
                detail: "\(source.name) failed with \(type(of: error))"
            )
            failure.source = source
            failure.underlying = error
            return failure
        }
        if error.source == .unknown { error.source = source() }
        return error
    }
}
