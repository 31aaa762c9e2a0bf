public import FoundationEssentials

/// A failed exchange, with the kind of failure, the side at fault and the safety of a retry.
///
/// If an unsuccessful response arrived, the error contains its status, its fields and the beginning of its
/// content.
public struct NetworkError: Error, Sendable, CustomStringConvertible {
    /// The side at fault.
    public enum Side: String, Sendable {
        /// The server, or the network on the way to it.
        case upstream
        /// The caller.
        case downstream
        /// This process.
        case proxy
    }

    /// The safety of sending the request again.
    public enum RetrySafety: Sendable {
        /// The server cannot have processed any part of the request.
        case safe
        /// The request was sent on a pooled connection that the peer may have closed before it saw the
        /// request.
        ///
        /// A retry on a new connection is safe if the method is idempotent.
        case idempotentOnly
        /// The server may have processed the request, or the body is consumed.
        case unsafe
    }

    /// The part of the chain that first threw an error.
    @nonexhaustive
    public enum Source: Sendable, Hashable {
        /// The error was thrown outside a chain.
        case unknown
        /// The transport.
        case transport
        /// The interceptor of this type.
        case interceptor(String)

        /// The source as text.
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
        /// The URL with the names but not the values of its query parameters.
        ///
        /// For example, `https://api.example.com/orders?page&sort`.
        public let url: String

        /// Method and URL.
        public var description: String { "\(method.rawValue) \(url)" }
    }

    /// The kind of failure.
    public let kind: ErrorKind
    /// The side at fault.
    public let side: Side
    /// The safety of a retry.
    public let retry: RetrySafety
    /// One clause that an operator can act on, without secrets.
    public package(set) var detail: String
    /// The status of the response that netproxy generates, if the kind does not determine it.
    package var ownStatus: HTTPStatus?
    /// The number of seconds before the next attempt, if known.
    public var retryAfter: Int?
    /// The unsuccessful response, if one arrived.
    public var response: FailedResponse?
    /// The failed request, in an error that a method or feed of a manager throws.
    ///
    /// It is `nil` if no request could be created, and in errors that are thrown later, by `decode` or by the
    /// sequences of a `ResponseStream`. The description omits it.
    public package(set) var request: Asked?
    /// The part of the chain that first threw the error.
    public var source = Source.unknown
    /// The error that caused this one: of another library, `OAuthFailure` if a credential could not be
    /// renewed, or `CancellationError`.
    public var underlying: (any Error)?
    /// The position from which an interrupted download can resume.
    public var resumePoint: ResumePoint?

    /// Creates an error.
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
        if kind == .cancelled { underlying = CancellationError() }
    }

    /// Creates an error for which netproxy generates a response with this status.
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

    /// The status of the response, if one arrived.
    public var status: HTTPStatus? { response?.status }

    /// Whether the kind is a timeout.
    public var isTimeout: Bool {
        switch kind {
        case .dnsTimeout, .connectionTimeout, .connectionReadTimeout, .connectionWriteTimeout,
            .httpResponseTimeout:
            true
        default: false
        }
    }

    /// Whether the server could not be reached, or the connection to it failed; includes their timeouts.
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

    /// The name of the interceptor that threw the error, if it was one.
    public var interceptor: String? {
        if case .interceptor(let name) = source { name } else { nil }
    }

    /// Whether the same request can be sent again without being processed twice.
    public func isSafeToRetry(_ method: HTTPMethod) -> Bool {
        isSafeToRetry(isIdempotent: method.isIdempotent)
    }

    func isSafeToRetry(isIdempotent: @autoclosure () -> Bool) -> Bool {
        switch retry {
        case .safe: true
        case .idempotentOnly: isIdempotent()
        case .unsafe: false
        }
    }

    /// Returns the error that the server describes in the content of its response.
    ///
    /// - Parameters:
    ///   - type: the type of the content.
    ///   - decoder: a decoder that replaces the one of the call, the endpoint or the channel; `JSONDecoder`
    ///     if the
    ///     response has none.
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

    /// Converts any error to a `NetworkError`; includes only the type of an unknown error, whose text may be
    /// unsafe.
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
        NetworkError(.cancelled, side: .downstream, detail: "the call was canceled")
    }

    /// Returns the error for a request that cannot be sent, so no server has processed it.
    ///
    /// - Parameter detail: the reason; control characters and line breaks are replaced, and the text is
    ///   truncated
    ///   after 500 characters, because it may quote untrusted input.
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

    /// Returns the text of a transport's error; omits that of an unknown error, which may be unsafe.
    package static func words(of error: any Error) -> String {
        switch error {
        case let error as NetworkError: error.description
        default: "unexpected error"
        }
    }

    /// Returns the error for content of an unexpected type, without a response.
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
    /// Returns the error for content of an unexpected type, with the response.
    package func undecodable(_ detail: String, _ reason: (any Error)?) -> NetworkError {
        var error = NetworkError(.undecodableResponse, side: .upstream, detail: detail)
        error.response = self
        error.underlying = reason
        return error
    }
}

extension NetworkError: LocalizedError {
    /// The description, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension NetworkError {
    /// Adds the source to an error that has none.
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
