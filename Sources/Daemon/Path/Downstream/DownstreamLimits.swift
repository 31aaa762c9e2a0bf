package import NetproxyHTTP1
package import NetproxyHTTP2
import NetworkCore

/// The limits of one request, shared by all connections accepted under one configuration.
package final class DownstreamLimits: Sendable {
    let limits: HTTP1Limits
    let headTimeout: Duration
    /// The slowest pace of a request's content, in bytes a second; `nil` accepts any pace.
    let bodyRate: Int?
    /// The time that a task waits for the next request before the connection is parked; `nil` if it is
    /// never parked.
    let parkDelay: Duration?
    /// The longest time without a request, in nanoseconds.
    let keepAlive: UInt64
    /// The limits of a connection in HTTP/2; `nil` if only HTTP/1 is supported.
    let http2: HTTP2Limits?

    package init(
        limits: HTTP1Limits,
        headTimeout: Duration,
        bodyRate: Int?,
        parkDelay: Duration? = nil,
        keepAlive: UInt64 = DownstreamState.keepAlive,
        http2: HTTP2Limits? = nil
    ) {
        self.limits = limits
        self.headTimeout = headTimeout
        self.bodyRate = bodyRate
        self.parkDelay = parkDelay
        self.keepAlive = keepAlive
        self.http2 = http2
    }

    /// The error for content that arrives too slowly.
    var slowBody: NetworkError {
        let pace = "the content of the request came slower than \(bodyRate ?? 0)B a second"
        return NetworkError.timeout(.requestBodyRate, after: TimeSetting(pace, nil))
    }
}
