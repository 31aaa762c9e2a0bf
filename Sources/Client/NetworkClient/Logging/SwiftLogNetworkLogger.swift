public import Logging

/// Logs calls with swift-log, labeled by subsystem and category.
///
/// Messages are fixed; the facts are metadata: `request_id`, `endpoint`, `method`, `host`, `path`, `status`,
/// `bytes`, `sent_bytes`, `duration_ms`, `first_byte_ms`, `attempts`, `retries`, `error`, `detail`,
/// `interceptor`; for a redirect, `request_id`, `status`, `from`, `to`. They contain no field values and no
/// content. At `trace`, they contain the request, as a curl command without credentials.
///
/// Successful calls are logged at `debug`, failed ones at `notice`.
public struct SwiftLogNetworkLogger: NetworkLogger {
    private let logger: Logger
    private let level: Logger.Level
    private let failureLevel: Logger.Level
    private let redaction: Redaction

    /// Creates a logger with the label `SUBSYSTEM.CATEGORY`.
    ///
    /// - Parameters:
    ///   - subsystem: the program or the channel, such as `com.example.orders`.
    ///   - category: a part of the subsystem, such as `network`.
    ///   - level: the level of successful calls.
    ///   - failureLevel: the level of failed calls, except canceled ones.
    ///   - redaction: the values to redact.
    public init(
        subsystem: String,
        category: String,
        level: Logger.Level = .debug,
        failureLevel: Logger.Level = .notice,
        redaction: Redaction = .standard
    ) {
        var logger = Logger(label: "\(subsystem).\(category)")
        logger[metadataKey: "subsystem"] = .string(subsystem)
        logger[metadataKey: "category"] = .string(category)
        self.init(logger, level: level, failureLevel: failureLevel, redaction: redaction)
    }

    /// Creates a logger that uses an existing one.
    public init(
        _ logger: Logger,
        level: Logger.Level = .debug,
        failureLevel: Logger.Level = .notice,
        redaction: Redaction = .standard
    ) {
        self.logger = logger
        self.level = level
        self.failureLevel = failureLevel
        self.redaction = redaction
    }

    /// Logs an event.
    public func log(_ event: NetworkEvent) {
        let exchange = event.exchange
        switch event {
        case .started:
            logger.trace(
                "request started",
                metadata: [
                    "request_id": .string(exchange.context.requestID),
                    "curl": .string(exchange.request.curlCommand(redacting: redaction)),
                ]
            )
        case .redirected(_, let redirect):
            logger.log(
                level: level,
                "redirect followed",
                metadata: [
                    "request_id": .string(exchange.context.requestID),
                    "status": .stringConvertible(redirect.status.rawValue),
                    "from": .string(String(TargetPath(redirect.source).path)),
                    "to": .string(String(TargetPath(redirect.location).path)),
                ]
            )
        case .received:
            logger.log(level: level, "response received", metadata: facts(exchange))
        case .ended(_, nil):
            logger.log(level: level, "content complete", metadata: facts(exchange))
        case .ended(_, let error?):
            logger.log(
                level: level(of: error),
                "content broken off",
                metadata: facts(exchange, error)
            )
        case .failed(_, let error):
            logger.log(level: level(of: error), "request failed", metadata: facts(exchange, error))
        case .undecodable(_, let error):
            logger.log(
                level: failureLevel,
                "content not decodable",
                metadata: facts(exchange, error)
            )
        }
    }

    /// Returns the level of a failure; the program itself has canceled a canceled call.
    private func level(of error: NetworkError) -> Logger.Level {
        error.kind == .cancelled ? level : failureLevel
    }

    private func facts(
        _ exchange: NetworkExchange,
        _ error: NetworkError? = nil
    ) -> Logger.Metadata {
        let context = exchange.context
        var facts: Logger.Metadata = [
            "request_id": .string(context.requestID),
            "endpoint": .string(exchange.endpoint),
            "method": .string(exchange.request.method.rawValue),
            "host": .string(exchange.request.origin.authority),
            "path": .string(String(TargetPath(exchange.request.target).path)),
            "duration_ms": .string(exchange.duration.milliseconds),
            "attempts": .stringConvertible(context.attempts),
        ]
        if let status = exchange.status { facts["status"] = .stringConvertible(status.rawValue) }
        if let length = exchange.contentLength { facts["bytes"] = .stringConvertible(length) }
        if let length = exchange.sentLength, length > 0 {
            facts["sent_bytes"] = .stringConvertible(length)
        }
        if !context.retries.isEmpty {
            facts["retries"] = .array(context.retries.map { .string($0.description) })
        }
        if let first = context.timings.firstByte {
            facts["first_byte_ms"] = .string(first.milliseconds)
        }
        if let error {
            facts["error"] = .string(error.kind.rawValue)
            facts["detail"] = .string(error.detail)
        }
        if let name = error?.interceptor { facts["interceptor"] = .string(name) }
        return facts
    }
}

extension Logger: NetworkLogger {
    /// Logs an event like a `SwiftLogNetworkLogger` with this logger.
    public func log(_ event: NetworkEvent) { SwiftLogNetworkLogger(self).log(event) }
}

extension Duration {
    /// The duration in milliseconds, with three decimal places.
    fileprivate var milliseconds: String {
        let microseconds =
            components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
        let fraction = String(microseconds % 1000 + 1000).dropFirst()
        return "\(microseconds / 1000).\(fraction)"
    }
}
