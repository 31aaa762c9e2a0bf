import NetproxyHTTPMessage
package import NetproxyRequestLog
@_spi(Proxying) package import NetworkCore

/// The newest results that show whether a channel works.
///
/// A refusal by netproxy, a client that disconnects and a limit of the API say nothing about the channel, so they
/// change nothing.
package struct ChannelOutcome: Sendable, Hashable {
    /// A failed exchange.
    package struct Failure: Sendable, Hashable {
        /// The time at which the request head was complete.
        package let time: WallTime
        /// The status that the client received; `nil` if it received none.
        package let status: HTTPStatus?
        /// The error code, if netproxy reported the failure.
        package let error: ErrorKind?
        /// Whether the API refused the channel's credential.
        package let isRefusedCredential: Bool
    }

    /// The time of the last success.
    package private(set) var success: WallTime?
    /// The last failure.
    package private(set) var failure: Failure?

    /// The last failure, unless a success followed it.
    package var current: Failure? {
        guard let failure else { return nil }
        guard let success else { return failure }
        return success > failure.time ? nil : failure
    }

    /// Notes a finished exchange.
    ///
    /// `inout`, because a borrowed record would be copied.
    @inline(__always)
    mutating func note(_ record: inout ExchangeRecord) {
        let code = record.status?.rawValue ?? 0
        if record.error == nil, code - 200 < 200, code >= 200, record.rpcStatus == nil {
            success = record.time
        } else {
            noteTrouble(&record)
        }
    }

    @inline(never)
    private mutating func noteTrouble(_ record: inout ExchangeRecord) {
        guard record.abortedBy != .client else { return }
        let code = record.status?.rawValue ?? 0
        let isRefused =
            record.error == nil && record.context.sentCredential != nil
            && (code == 401 || code == 403 || record.rpcStatus == .unauthenticated)
        let hasFailed: Bool
        if let error = record.error {
            hasFailed = error.isOfTheChannel
        } else if let call = record.rpcStatus {
            hasFailed = call == .unavailable || isRefused
        } else {
            hasFailed = code >= 500 || isRefused
        }
        if hasFailed {
            failure = Failure(
                time: record.time,
                status: record.status,
                error: record.error,
                isRefusedCredential: isRefused
            )
        } else if record.error == nil, ![0, 401, 403, 408, 429].contains(code) {
            success = record.time
        }
    }

    static func + (left: ChannelOutcome, right: ChannelOutcome) -> ChannelOutcome {
        var newest = left
        if let success = right.success { newest.success = max(success, left.success ?? success) }
        if let failure = right.failure, failure.time > left.failure?.time ?? .distantPast {
            newest.failure = failure
        }
        return newest
    }
}

extension WallTime {
    fileprivate static let distantPast = WallTime(seconds: .min)
}

extension ErrorKind {
    /// Whether the error shows that the channel does not work, rather than that netproxy refused a request.
    fileprivate var isOfTheChannel: Bool {
        switch self {
        case .httpRequestError, .httpRequestDenied, .noChannel, .rateLimited, .requestHeadTimeout,
            .requestBodyTimeout, .proxyLoopDetected, .cancelled:
            false
        default: true
        }
    }
}
