import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxySettings
import NetproxySystem
public import NetworkCore
import Synchronization

/// The transport of the library: pooled keep-alive connections to any origin, on its own event loop.
///
/// Callers may be on any executor.
public final class PooledTransport: HTTPTransport {
    private let loop: EventLoop
    private let options: UpstreamOptions
    /// The TLS context, created for the first `https` origin, since the system's authorities take 4 MB.
    private let tls: LazyTLS
    private let ownership: LoopOwnership
    private let pools = Mutex(Pools())

    private struct Pools {
        var known: [Origin: LoopBound<OriginPool>] = [:]
        /// The number of pools at which unused ones are dropped.
        var limit = 64
        /// The number of requests without a response.
        var inFlight = 0
        var isShut = false
        var isDrained = false
        /// The callers that wait for the end of all exchanges.
        var waiters: [ShutdownWaiter] = []
    }

    /// The number of origins with a pool.
    package var originCount: Int { pools.withLock { $0.known.count } }

    /// Starts a loop with an empty pool.
    ///
    /// - Throws: `NetworkError` if the files named by `options` cannot be used, or if an option is out of
    ///   range.
    public convenience init(options: UpstreamOptions = UpstreamOptions()) throws {
        try options.check()
        do {
            // Read the files first: a started loop runs until it is stopped.
            let tls = try LazyTLS(options.demands())
            let loop = try EventLoop()
            try loop.start()
            self.init(options, tls, loop, .own)
        } catch let error as IOError {
            throw NetworkError(.internalError, side: .proxy, detail: "\(error)")
        }
    }

    /// The owner of the loop: a transport stops only its own loop at its end.
    package enum LoopOwnership: Sendable {
        case own, shared
    }

    /// Creates a transport on a loop that is already running.
    package convenience init(
        options: UpstreamOptions,
        on loop: EventLoop,
        _ ownership: LoopOwnership = .shared
    ) throws {
        self.init(options, try LazyTLS(options.demands()), loop, ownership)
    }

    private init(
        _ options: UpstreamOptions,
        _ tls: LazyTLS,
        _ loop: EventLoop,
        _ ownership: LoopOwnership
    ) {
        self.ownership = ownership
        self.loop = loop
        self.options = options
        self.tls = tls
        ProcessSignal.ignoreBrokenPipes()
    }

    deinit {
        guard !pools.withLock(\.isShut) else { return }
        let (pools, loop, ownership) = (pools.withLock { Array($0.known.values) }, loop, ownership)
        loop.submit {
            // The remaining bodies end first.
            var left = pools.count
            let stopWhenEmpty = { if left == 0, ownership == .own { loop.stop() } }
            stopWhenEmpty()
            for pool in pools {
                pool.value.close {
                    left -= 1
                    stopWhenEmpty()
                }
            }
        }
    }

    /// Sends the request once; see `HTTPTransport`.
    ///
    /// The caller's task moves to the loop and back. No other task is created, and memory that the task
    /// allocates stays its own.
    ///
    /// - Throws: `http_request_error` for CONNECT, and for a target or a host that is invalid in a request
    ///   line; otherwise the error of the attempt.
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        guard request.method != .connect else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                retry: .safe,
                detail: "CONNECT makes a tunnel of a connection, and this transport opens none"
            )
        }
        try request.headers.checkFitness()
        guard PooledTransport.isFit(request) else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                retry: .safe,
                detail: "the request's target or host is not visible ASCII, or its target no path"
            )
        }
        try begin()
        defer { end() }
        return try await withTaskExecutorPreference(loop) {
            try await sendOnLoop(request, &context)
        }
    }

    /// Accepts no more requests, waits for current requests and responses, and closes the connections and the
    /// loop.
    ///
    /// - Parameter patience: the longest wait; `nil` for no limit. Remaining exchanges then end within their
    ///   own limits.
    /// - Returns: whether all exchanges have ended.
    @discardableResult
    public func shutdown(within patience: Duration? = nil) async -> Bool {
        let (isFirst, isIdle) = pools.withLock { pools in
            defer { pools.isShut = true }
            return (!pools.isShut, pools.inFlight == 0)
        }
        if isFirst {
            let known = pools.withLock { Array($0.known.values) }
            loop.submit { for pool in known { pool.value.close() } }
            if isIdle { drain() }
        }
        return await withCheckedContinuation { continuation in
            let waiter = ShutdownWaiter(continuation)
            let isDrained = pools.withLock { pools in
                if !pools.isDrained { pools.waiters.append(waiter) }
                return pools.isDrained
            }
            if isDrained { return waiter.finish(.drained) }
            guard let patience else { return }
            Task {
                try? await Task.sleep(for: patience)
                waiter.finish(.impatient)
            }
        }
    }

    private func begin() throws(NetworkError) {
        let isShut = pools.withLock { pools in
            if !pools.isShut { pools.inFlight += 1 }
            return pools.isShut
        }
        guard !isShut else {
            throw NetworkError(
                .httpRequestDenied,
                side: .downstream,
                retry: .safe,
                detail: "the transport was shut down and takes no more requests"
            )
        }
    }

    private func end() {
        let isLast = pools.withLock { pools in
            pools.inFlight -= 1
            return pools.isShut && pools.inFlight == 0
        }
        if isLast { drain() }
    }

    /// Stops the loop once no connection is left; every request has its response by then.
    private func drain() {
        let known = pools.withLock { Array($0.known.values) }
        loop.submit { [self] in
            var left = known.count
            let finish = { [self] in
                guard left == 0 else { return }
                let waiters = pools.withLock { pools in
                    pools.isDrained = true
                    defer { pools.waiters = [] }
                    return pools.waiters
                }
                for waiter in waiters { waiter.finish(.drained) }
                if ownership == .own { loop.stop() }
            }
            finish()
            for pool in known {
                pool.value.close {
                    left -= 1
                    finish()
                }
            }
        }
    }

    @concurrent
    private func sendOnLoop(
        _ request: Request,
        _ context: inout RequestContext
    ) async throws -> Response {
        let pool = try pool(for: request.origin)
        pool.users += 1
        defer { pool.users -= 1 }
        var response = try await LoopTransport(pool).send(request, context: &context)
        switch response.body {
        case .empty, .bytes: break
        case .stream(let source, let length):
            response.body = .stream(ExecutorBoundBody(source, loop), length: length)
        case .tunnel(let stream): response.body = .tunnel(ExecutorBoundStream(stream, loop))
        }
        return response
    }

    /// Whether the head can be written: the program may have set an invalid target or host.
    private static func isFit(_ request: Request) -> Bool {
        let target = request.target
        let isPath =
            target.utf8.first == UInt8(ascii: "/")
            || target == "*" && request.method == .options
        return isPath && Grammar.isTarget(target.utf8.span)
            && Grammar.isTarget(request.origin.authority.utf8.span)
    }

    private func pool(for origin: Origin) throws(NetworkError) -> OriginPool {
        let known = pools.withLock { $0.known[origin] }
        if let known { return known.value }
        var options = options
        options.proxy = options.proxy ?? options.proxyEnvironment?.proxy(for: origin)
        let pool = OriginPool(
            origin,
            options: options,
            tls: origin.scheme == .https ? try tls.context() : nil,
            on: loop,
            serving: .callers
        )
        pools.withLock { pools in
            // Use twice the number in use, so that a program with many new hosts searches rarely.
            if pools.known.count >= pools.limit {
                pools.known = pools.known.filter { !$0.value.value.isUnused }
                pools.limit = max(64, pools.known.count * 2)
            }
            pools.known[origin] = LoopBound(pool, on: loop)
        }
        return pool
    }
}

/// The TLS context, created at its first use.
///
/// Files that a program names are read immediately, so that an error is reported when they are named.
private final class LazyTLS: Sendable {
    private let demands: TLSDemands
    private let made: Mutex<TLSContext?>

    init(_ demands: TLSDemands) throws(IOError) {
        self.demands = demands
        made = Mutex(demands.files.isEmpty ? nil : try TLSContext(demands))
    }

    func context() throws(NetworkError) -> TLSContext {
        do throws(IOError) {
            return try made.withLock { (made) throws(IOError) in
                if let made { return made }
                let context = try TLSContext(demands)
                made = context
                return context
            }
        } catch {
            throw NetworkError(.internalError, side: .proxy, detail: "\(error)")
        }
    }
}

/// A wait for a shutdown, which ends once.
private final class ShutdownWaiter: Sendable {
    /// The reason for the end of the wait.
    enum End {
        case drained
        /// The caller's time limit has passed.
        case impatient
    }

    private let continuation: Mutex<CheckedContinuation<Bool, Never>?>

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = Mutex(continuation)
    }

    func finish(_ end: End) {
        continuation.withLock { $0.take() }?.resume(returning: end == .drained)
    }
}

extension UpstreamOptions {
    /// Returns the demands on the TLS peer.
    ///
    /// - Throws: `proxy_internal_error` that names an invalid pin.
    fileprivate func demands() throws(NetworkError) -> TLSDemands {
        var tls = tls
        if let certificate, let key = certificateKey {
            tls.clientCertificate = TLSDemands.ClientCertificate(certificate: certificate, key: key)
        }
        for text in pins {
            guard let pin = CertificatePin(text: text) else {
                throw UpstreamOptions.unusable("pins", "sha256/ and the base64 of 32 bytes", text)
            }
            tls.pins.append(pin)
        }
        return tls
    }
}

extension PooledTransport {
    /// Starts a transport for servers that a policy trusts.
    ///
    /// - Parameters:
    ///   - trust: the policy, which names the accepted certificates.
    ///   - options: limits and timeouts; the policy replaces its authorities and pins.
    /// - Throws: `NetworkError` if the files named by the policy cannot be used, or if a pin is invalid.
    public convenience init(
        trust: TrustPolicy,
        options: UpstreamOptions = UpstreamOptions()
    ) throws {
        var options = options
        options.authorities = trust.authorities
        options.pins = trust.pins
        try self.init(options: options)
    }
}

extension PooledTransport {
    /// Returns the transport itself: every attempt ends at the context's deadline.
    public func timed(by clock: any NetworkClock) -> any HTTPTransport { self }
}
