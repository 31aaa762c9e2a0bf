import Bytes
package import EventIO
import HTTPMessage
public import NetworkCore
import Synchronization

/// The transport of the library: pooled keep-alive connections to any origin, on an event loop of
/// its own; callers may be on any executor.
public final class PooledTransport: HTTPTransport {
    private let loop: EventLoop
    private let options: UpstreamOptions
    private let tls: TLSContext
    private let ownsLoop: Bool
    private let pools = Mutex<[Origin: LoopBound<OriginPool>]>([:])

    /// Starts a loop and makes an empty pool.
    ///
    /// - Throws: `NetworkError` when the files that `options` names cannot be used.
    public convenience init(options: UpstreamOptions = UpstreamOptions()) throws {
        do {
            let loop = try EventLoop()
            loop.start()
            try self.init(options: options, on: loop, ownsLoop: true)
        } catch let error as IOError {
            throw NetworkError(.proxyInternalError, side: .proxy, detail: "\(error)")
        }
    }

    /// Makes a transport on a loop that runs already.
    package init(
        options: UpstreamOptions,
        on loop: EventLoop,
        ownsLoop: Bool = false
    ) throws {
        self.ownsLoop = ownsLoop
        self.loop = loop
        self.options = options
        tls = try TLSContext(options.tls)
        SignalSource.ignoreBrokenPipes()
    }

    deinit {
        let (pools, loop, ownsLoop) = (pools.withLock { Array($0.values) }, loop, ownsLoop)
        loop.submit {
            // Bodies that are still read come to their end first.
            var left = pools.count
            let stopWhenEmpty = { if left == 0, ownsLoop { loop.stop() } }
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
    public func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        let started = context
        let response: Response
        if let deadline = context.deadline {
            (response, context) = try await TimedTask.run(on: loop, until: deadline) {
                try await self.sendOnLoop(request, started)
            }
        } else {
            (response, context) = try await withTaskExecutorPreference(loop) {
                try await sendOnLoop(request, started)
            }
        }
        return response
    }

    @concurrent
    private func sendOnLoop(
        _ request: Request,
        _ context: RequestContext
    ) async throws -> (Response, RequestContext) {
        var context = context
        var response = try await LoopTransport(pool(for: request.origin))
            .send(request, context: &context)
        switch response.body {
        case .empty, .bytes: break
        case .stream(let source, let length):
            response.body = .stream(HoppingBody(source, loop), length: length)
        case .tunnel(let stream): response.body = .tunnel(HoppingStream(stream, loop))
        }
        return (response, context)
    }

    private func pool(for origin: Origin) -> OriginPool {
        let known = pools.withLock { $0[origin] }
        if let known { return known.value }
        let pool = OriginPool(
            origin,
            options: options,
            tls: origin.scheme == .https ? tls : nil,
            on: loop
        )
        pools.withLock { $0[origin] = LoopBound(pool, on: loop) }
        return pool
    }
}

extension UpstreamOptions {
    /// What the options demand of a TLS peer.
    package var tls: TLSContext.Options {
        var tls = TLSContext.Options()
        tls.authorities = authorities
        tls.minimumVersion = minimumTLSVersion
        tls.certificate = certificate
        tls.key = certificateKey
        tls.pins = pins
        tls.enforcesPins = enforcesPins
        return tls
    }
}

/// A body that lives on a loop, read from wherever the caller is.
private struct HoppingBody: BodySource {
    private let source: any BodySource
    private let loop: EventLoop

    init(_ source: any BodySource, _ loop: EventLoop) {
        self.source = source
        self.loop = loop
    }

    func next() async throws -> ByteSlice? {
        try await withTaskExecutorPreference(loop) { try await nextOnLoop() }
    }

    @concurrent
    private func nextOnLoop() async throws -> ByteSlice? {
        try await source.next()
    }

    func trailers() -> HTTPHeaders? { source.trailers() }
    func cancel() { source.cancel() }
}
