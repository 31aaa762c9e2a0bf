public import NetworkClient
import Synchronization

/// Breaks some of the calls that pass: put it innermost to test what stands around it.
public struct FaultInterceptor: RequestInterceptor {
    /// A failure.
    public enum Fault: Sendable {
        /// The attempt fails with an error, without being sent.
        case error(NetworkError)
        /// The attempt is answered with a status, without being sent.
        case status(HTTPStatus)
        /// The attempt is made after a while.
        case latency(Duration)
        /// The content of the response breaks off after so many bytes.
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

        /// A pooled connection was closed by the origin before it answered.
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

    /// The attempts that fail.
    public enum Plan: Sendable, Hashable {
        /// The first ones.
        case first(Int)
        /// Every n-th one; 1 is all of them.
        case every(Int)
        /// A share of them from 0 to 1, always the same ones for the same seed.
        case share(Double, seed: UInt64)
    }

    private final class Count: Sendable {
        let passed = Atomic<Int>(0)
    }

    private let fault: Fault
    private let plan: Plan
    private let clock: any NetworkClock
    private let count = Count()

    /// Makes the interceptor.
    public init(_ fault: Fault, _ plan: Plan, clock: any NetworkClock = SystemClock()) {
        self.fault = fault
        self.plan = plan
        self.clock = clock
    }

    /// The number of attempts, failed or not.
    public var attempts: Int { count.passed.load(ordering: .relaxed) }

    /// Sends the request, or fails as planned.
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

    /// SplitMix64: the same numbers everywhere.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Content that breaks off.
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
