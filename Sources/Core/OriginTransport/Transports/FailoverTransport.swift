package import NetproxyEventIO
package import NetworkCore
import Synchronization

/// Which upstreams of a channel could not be reached lately; all loops share it, so that an outage is
/// met once and not once on each.
package final class UpstreamRests: Sendable {
    /// Until when each is tried after the others, on the loops' clock.
    private let ends: Mutex<[UInt64]>
    /// Whether any is set: mostly none is, and the lock is not taken.
    private let isAny = Atomic(false)

    /// None rests.
    package init(count: Int) {
        ends = Mutex(Array(repeating: 0, count: count))
    }

    /// Until when each rests, 0 for one that does not; nil while none does.
    var all: [UInt64]? {
        isAny.load(ordering: .acquiring) ? ends.withLock { $0 } : nil
    }

    /// Takes the next try of an upstream that rested: other requests still avoid it.
    ///
    /// - Returns: when its rest ended; 0 if it had none, and may be tried by all.
    func begin(_ index: Int, restingUntil end: UInt64) -> UInt64 {
        guard isAny.load(ordering: .acquiring) else { return 0 }
        return ends.withLock { ends in
            let earlier = ends[index]
            if earlier != 0 { ends[index] = end }
            return earlier
        }
    }

    /// Withdraws a try that did not show whether the upstream can be reached.
    func withdraw(_ index: Int, restingUntil end: UInt64, to earlier: UInt64) {
        ends.withLock { if $0[index] == end { $0[index] = earlier } }
    }

    /// Notes that it could not be reached, or with 0 that it could.
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
    /// The base path, if it has a place for a credential.
    let template: PathTemplate?

    /// Makes a route.
    ///
    /// - Parameters:
    ///   - pool: the connections to its origin.
    ///   - basePath: the beginning of its paths; empty, or without a slash at its end.
    package init(_ pool: OriginPool, basePath: String) {
        self.pool = pool
        self.basePath = basePath
        template = PathTemplate(basePath)
    }
}

extension UpstreamRoute {
    /// The target of another route, below the base path of this one; `nil` if it is not below the other's.
    fileprivate func target(_ target: String, from other: UpstreamRoute) -> String? {
        // A credential has been put in its place by now.
        if let template, let match = other.template?.match(target) {
            return template.filled(with: match.value) + match.rest
        }
        guard target.hasPrefix(other.basePath) else { return nil }
        return basePath + target.dropFirst(other.basePath.count)
    }
}

/// Sends to the first of several upstreams that can be reached, in their order.
///
/// Called on its loop only. Only what happens before a request is sent leads to the next upstream: no
/// name, no connection, no handshake. Requests come with the base path of the first.
package struct FailoverTransport: HTTPTransport {
    private final class Routes {
        let all: [UpstreamRoute]
        let rests: UpstreamRests

        init(_ all: [UpstreamRoute], _ rests: UpstreamRests) {
            self.all = all
            self.rests = rests
        }

        /// Those that worked lately first, and the others after them, rather than none.
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

    /// Sends over several pools of one loop; at least one, and as many as `rests` is about.
    package init(_ routes: [UpstreamRoute], _ rests: UpstreamRests, on loop: EventLoop) {
        self.routes = LoopBound(Routes(routes, rests), on: loop)
    }

    /// Itself: every attempt ends at the context's deadline.
    package func timed(by clock: any NetworkClock) -> any HTTPTransport { self }

    package func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        let (bound, loop) = (routes.value, routes.loop)
        let order = bound.order(for: request.target, now: loop.now)
        for index in order.dropLast() {
            // One request tries an upstream that has rested; the others still avoid it.
            let rest = loop.deadline(after: FailoverTransport.rest)
            let earlier = bound.rests.begin(index, restingUntil: rest)
            do {
                return try await send(request, over: index, context: &context)
            } catch {
                guard let error = error as? NetworkError, FailoverTransport.isOutage(error)
                else {
                    // It was reached, or the caller is gone: the next request tries it again.
                    bound.rests.withdraw(index, restingUntil: rest, to: earlier)
                    throw error
                }
                bound.rests.set(index, until: loop.deadline(after: FailoverTransport.rest))
                context.beginNextAttempt(because: .fault(error.kind))
            }
        }
        return try await send(request, over: order[order.count - 1], context: &context)
    }

    /// Whether an error shows that an upstream cannot be reached, so that another one is tried.
    ///
    /// An untrusted certificate is not an outage: the operator must hear of it. Nor is what we lack
    /// ourselves, or the end of the exchange's time.
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
            // What follows the base path may be empty or a query; the other upstream may have none.
            if !request.target.hasPrefix("/") { request.target = "/" + request.target }
        }
        // The record names the upstream of the attempt.
        context.destination =
            index == 0
            ? nil : RequestContext.Destination(origin: request.origin, target: request.target)
        let response = try await LoopTransport(route.pool).send(request, context: &context)
        routes.value.rests.set(index, until: 0)
        return response
    }
}
