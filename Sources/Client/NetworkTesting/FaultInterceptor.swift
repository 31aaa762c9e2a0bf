public import NetworkClient
import Synchronization

/// Injects a fault into some calls; add it as the innermost interceptor to test the outer ones.
public struct FaultInterceptor: RequestInterceptor {
    /// The fault to inject.
    public enum Fault: Sendable {
        /// The attempt fails with an error, without being sent.
        case error(NetworkError)
        /// The attempt gets a response with this status, without being sent.
        case status(HTTPStatus)
        /// The attempt is sent after a delay.
        case latency(Duration)
        /// The response content breaks off after the given number of bytes.
        case cut(after: Int)

        /// The origin refuses the connection.
        public static var connectionRefused: Fault {
            .error(
                NetworkError(
                    .connectionRefused,
                    side: .upstream,
                    retry: .safe,
                    detail: "an injected fault"
                )
            )
        }

        /// The origin closes a pooled connection before it responds.
        public static var connectionTerminated: Fault {
            .error(
                NetworkError(
                    .connectionTerminated,
                    side: .upstream,
                    retry: .idempotentOnly,
                    detail: "an injected fault"
                )
            )
        }
    }

    /// The attempts that get the fault.
    public enum Plan: Sendable, Hashable {
        /// The first attempts.
        case first(Int)
        /// Every n-th attempt; 1 is every attempt.
        case every(Int)
        /// A share of the attempts from 0 to 1; the same seed selects the same attempts.
        case share(Double, seed: UInt64)
    }

    private final class Count: Sendable {
        let passed = Atomic<Int>(0)
    }

    private let fault: Fault
    private let plan: Plan
    private let clock: any NetworkClock
    private let count = Count()

    /// Creates the interceptor.
    public init(_ fault: Fault, _ plan: Plan, clock: any NetworkClock = SystemClock()) {
        self.fault = fault
        self.plan = plan
        self.clock = clock
    }

    /// The number of attempts so far, with and without the fault.
    public var attempts: Int { count.passed.load(ordering: .relaxed) }

    /// Forwards the request, or injects the fault according to the plan.
    public func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        let number = count.passed.add(1, ordering: .relaxed).newValue
        guard strikes(number) else { return try await next.send(request, context: &context) }
        switch fault {
        case .error(let error):
            context.attempts += 1
            throw error
        case .status(let status):
            context.attempts += 1
            return Response(status: status)
        case .latency(let delay):
            try await clock.sleep(until: clock.now + delay)
            return try await next.send(request, context: &context)
        case .cut(let length):
            var response = try await next.send(request, context: &context)
            response.body = .stream(CutBody(response.body, after: length), length: nil)
            return response
        }
    }

    private func strikes(_ number: Int) -> Bool {
        switch plan {
        case .first(let count): number <= count
        case .every(let step): step > 0 && number % step == 0
        case .share(let share, let seed):
            Double(FaultInterceptor.mixed(seed &+ UInt64(number)) >> 11) / Double(1 << 53) < share
        }
    }

    /// SplitMix64, which returns the same numbers on every platform.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Response content that breaks off.
private final class CutBody: BodySource {
    private let body: HTTPBody
    private let left: Mutex<Int>

    init(_ body: HTTPBody, after length: Int) {
        self.body = body
        left = Mutex(length)
    }

    func next() async throws -> ByteSlice? {
        let left = left.withLock { $0 }
        let piece: ByteSlice?
        switch body {
        case .empty, .tunnel: piece = nil
        case .bytes(let bytes): piece = bytes
        case .stream(let source, _): piece = try await source.next()
        }
        guard left > 0, let piece else {
            body.cancel()
            throw NetworkError(
                .httpResponseIncomplete,
                side: .upstream,
                detail: "an injected fault"
            )
        }
        let part = piece.prefix(left)
        self.left.withLock { $0 = part.count < piece.count || isWhole ? 0 : $0 - part.count }
        return part
    }

    private var isWhole: Bool {
        if case .stream = body { false } else { true }
    }

    func cancel() { body.cancel() }
}
