package import NetproxyEventIO
package import NetworkCore
import Synchronization

/// The cool-downs of a channel's unreachable upstreams.
///
/// All loops share them, so that an outage costs one failed attempt rather than one per loop.
package final class UpstreamCoolDowns: Sendable {
    /// The end of each cool-down on the loops' clock; until then, the upstream is tried last.
    private let ends: Mutex<[UInt64]>
    /// Whether any cool-down is set; the lock is skipped in the usual case of none.
    private let isAny = Atomic(false)

    /// Creates a table without cool-downs.
    package init(count: Int) {
        ends = Mutex(Array(repeating: 0, count: count))
    }

    /// The end of each upstream's cool-down, 0 for none; `nil` if no upstream has one.
    var all: [UInt64]? {
        isAny.load(ordering: .acquiring) ? ends.withLock { $0 } : nil
    }

    /// Reserves the next attempt after a cool-down, so that other requests still avoid the upstream.
    ///
    /// - Returns: the end of the previous cool-down; 0 if there was none and any request may use the
    ///   upstream.
    func begin(_ index: Int, restingUntil end: UInt64) -> UInt64 {
        guard isAny.load(ordering: .acquiring) else { return 0 }
        return ends.withLock { ends in
            let earlier = ends[index]
            if earlier != 0 { ends[index] = end }
            return earlier
        }
    }

    /// Withdraws an attempt that did not show whether the upstream can be reached.
    func withdraw(_ index: Int, restingUntil end: UInt64, to earlier: UInt64) {
        ends.withLock { if $0[index] == end { $0[index] = earlier } }
    }

    /// Records that the upstream could not be reached or, with 0, that it could.
    func set(_ index: Int, until end: UInt64) {
        guard end != 0 || isAny.load(ordering: .acquiring) else { return }
        ends.withLock { ends in
            ends[index] = end
            isAny.store(ends.contains { $0 != 0 }, ordering: .releasing)
        }
    }
}

/// One of the URLs of an API.
package struct UpstreamRoute {
    let pool: OriginPool
    let basePath: String
    /// The base path, if it contains a placeholder for a credential.
    let template: PathTemplate?

    /// Creates a route.
    ///
    /// - Parameters:
    ///   - pool: the connections to the route's origin.
    ///   - basePath: the prefix of the route's paths; empty, or without a trailing slash.
    package init(_ pool: OriginPool, basePath: String) {
        self.pool = pool
        self.basePath = basePath
        template = PathTemplate(basePath)
    }
}

extension UpstreamRoute {
    /// Returns the target of another route, moved below this route's base path; `nil` if it is not below the
    /// other's base path.
    fileprivate func target(_ target: String, from other: UpstreamRoute) -> String? {
        // The target already contains the credential.
        if let template, let match = other.template?.match(target) {
            return template.filled(with: match.value) + match.rest
        }
        guard target.hasPrefix(other.basePath) else { return nil }
        return basePath + target.dropFirst(other.basePath.count)
    }
}

/// Sends to the first reachable upstream in the configured order.
///
/// Must be called on its loop. Only failures before a request is sent lead to the next upstream: no address,
/// no connection, no handshake. Requests contain the base path of the first upstream.
package struct FailoverTransport: HTTPTransport {
    private final class Routes {
        let all: [UpstreamRoute]
        let rests: UpstreamCoolDowns

        init(_ all: [UpstreamRoute], _ rests: UpstreamCoolDowns) {
            self.all = all
            self.rests = rests
        }

        /// Returns the upstreams without a cool-down first; the others follow, so that the list is never
        /// empty.
        func order(for target: String, now: UInt64) -> [Int] {
            // A request for the server as a whole (`*`) would reach beyond a base path.
            let usable = all.indices.filter {
                target != "*" || all[$0].basePath == all[0].basePath
            }
            guard let ends = rests.all else { return usable }
            return usable.filter { ends[$0] <= now } + usable.filter { ends[$0] > now }
        }
    }

    /// The cool-down of an unreachable upstream: 10 s, like nginx's `fail_timeout`.
    private static let rest = Duration.seconds(10)

    private let routes: LoopBound<Routes>

    /// Sends over several pools of one loop; at least one, and as many as `rests` has entries.
    package init(_ routes: [UpstreamRoute], _ rests: UpstreamCoolDowns, on loop: EventLoop) {
        self.routes = LoopBound(Routes(routes, rests), on: loop)
    }

    /// Returns the transport itself: every attempt ends at the context's deadline.
    package func timed(by clock: any NetworkClock) -> any HTTPTransport { self }

    package func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        let (bound, loop) = (routes.value, routes.loop)
        let order = bound.order(for: request.target, now: loop.now)
        for index in order.dropLast() {
            // One request tries an upstream after its cool-down; the others still avoid it.
            let rest = loop.deadline(after: FailoverTransport.rest)
            let earlier = bound.rests.begin(index, restingUntil: rest)
            do {
                return try await send(request, over: index, context: &context)
            } catch {
                guard let error = error as? NetworkError, FailoverTransport.isOutage(error)
                else {
                    // The upstream was reached, or the caller canceled: the next request tries it again.
                    bound.rests.withdraw(index, restingUntil: rest, to: earlier)
                    throw error
                }
                bound.rests.set(index, until: loop.deadline(after: FailoverTransport.rest))
                context.beginNextAttempt(because: .fault(error.kind))
            }
        }
        return try await send(request, over: order[order.count - 1], context: &context)
    }

    /// Whether an error shows that an upstream cannot be reached, so that the next one is tried.
    ///
    /// An untrusted certificate is not an outage: the operator must learn about it. Neither is a shortage of
    /// our own resources, or the exchange's deadline.
    static func isOutage(_ error: NetworkError) -> Bool {
        error.retry == .safe && error.side == .upstream && error.kind != .tlsCertificateError
            && error.kind != .httpResponseTimeout
    }

    private func send(
        _ request: Request,
        over index: Int,
        context: inout RequestContext
    ) async throws -> Response {
        let (first, route) = (routes.value.all[0], routes.value.all[index])
        var request = request
        request.origin = route.pool.peer.origin
        if first.basePath != route.basePath, let moved = route.target(request.target, from: first) {
            request.target = moved
            // The rest after the base path may be empty or only a query; the other upstream may have no base
            // path.
            if !request.target.hasPrefix("/") { request.target = "/" + request.target }
        }
        // The log record names the upstream of the attempt.
        context.destination =
            index == 0
            ? nil : RequestContext.Destination(origin: request.origin, target: request.target)
        let response = try await LoopTransport(route.pool).send(request, context: &context)
        routes.value.rests.set(index, until: 0)
        return response
    }
}
