import FoundationEssentials
import OAuth

/// The path of every call: build, send through the chain, validate, report.
///
/// A value, so that a call can outlive its manager.
struct CallPipeline<Item: Endpoint>: Sendable {
    let channel: NetworkChannel
    private let chains = ChainCache()
    private let selection: TransportSelection<Item>

    init(_ channel: NetworkChannel, _ selection: TransportSelection<Item>) {
        self.channel = channel
        self.selection = selection
    }

    // MARK: - Whole responses

    func value<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type,
        _ options: CallOptions
    ) async throws(NetworkError) -> Value {
        try await value(try call(endpoint, options), as: type)
    }

    func value<Value: Decodable & Sendable>(
        _ call: NetworkCall,
        as type: Value.Type
    ) async throws(NetworkError) -> Value {
        let (response, exchange) = try await whole(call)
        do throws(NetworkError) {
            return try response.value(
                type,
                method: call.request.method,
                empty: channel.emptyContent
            )
        } catch {
            let error = error.asking(call.request)
            report { .undecodable(exchange, error) }
            throw error
        }
    }

    func whole(
        _ call: NetworkCall
    ) async throws(NetworkError) -> (WholeResponse, NetworkExchange) {
        let limit = call.options.contentLimit ?? channel.contentLimit
        return try await run(call) { call, exchange in
            let response = try await send(call, &exchange)
            let body = call.options.metered(response.body)
            let content = try await body.collect(
                upTo: limit,
                until: contentDeadline(call, exchange),
                on: channel.clock
            )
            exchange.contentLength = content.count
            exchange.duration = exchange.started.duration(to: channel.clock.now)
            return WholeResponse(
                status: response.status,
                headers: response.headers,
                content: content,
                context: exchange.context,
                duration: exchange.duration,
                decoder: decoder(of: call)
            )
        }
    }

    /// Returns the deadline of the content, unless the whole call is limited.
    private func contentDeadline(
        _ call: NetworkCall,
        _ exchange: NetworkExchange
    ) -> ContinuousClock.Instant? {
        isWatchedAsAWhole(call) ? nil : exchange.context.deadline
    }

    /// Whether the whole call is limited, because the program's own interceptors may wait for anything.
    ///
    /// The other parts of the chain end at the deadline by themselves.
    private func isWatchedAsAWhole(_ call: NetworkCall) -> Bool {
        !(channel.interceptors.isEmpty && call.options.interceptors.isEmpty)
    }

    /// Returns the head of a successful response; the content is still to come.
    func head(_ call: NetworkCall) async throws(NetworkError) -> (Response, NetworkExchange) {
        try await run(call) { call, exchange in
            let response = try await send(call, &exchange)
            exchange.duration = exchange.started.duration(to: channel.clock.now)
            return response
        }
    }

    /// Returns the head of a response, and reports the end of its content.
    func streamed(_ call: NetworkCall) async throws(NetworkError) -> (Response, NetworkExchange) {
        var (response, exchange) = try await head(call)
        guard isListenedTo else { return (response, exchange) }
        switch response.body {
        case .empty, .tunnel, .bytes: reportEnd(exchange, response.body.length ?? 0, nil)
        case .stream(let source, let length):
            let exchange = exchange
            let watched = EndingBody(source) { reportEnd(exchange, $0, $1) }
            response.body = .stream(watched, length: length)
        }
        return (response, exchange)
    }

    /// Reports the end of a response's content.
    func reportEnd(_ exchange: NetworkExchange, _ count: Int, _ error: NetworkError?) {
        report {
            var exchange = exchange
            exchange.contentLength = count
            exchange.duration = exchange.started.duration(to: channel.clock.now)
            return .ended(exchange, error)
        }
    }

    /// Returns the response as it arrives.
    func stream(_ call: NetworkCall) async throws(NetworkError) -> ResponseStream {
        var (response, exchange) = try await streamed(call)
        response.body = call.options.metered(response.body)
        return ResponseStream(response, exchange.context, decoder: decoder(of: call))
    }

    // MARK: - The path

    func call(
        _ endpoint: Item,
        _ options: CallOptions,
        task: HTTPTask? = nil
    ) throws(NetworkError) -> NetworkCall {
        var builder = RequestBuilder(endpoint).encoding(as: channel)
        if let task { builder = builder.task(task) }
        return NetworkCall(
            subject: endpoint,
            request: try builder.build(),
            authorization: options.authorization ?? endpoint.authorization,
            validation: options.validation ?? endpoint.validation ?? channel.validation,
            decoder: options.decoder ?? endpoint.decoder,
            timeout: options.timeout ?? endpoint.timeout ?? channel.timeout,
            stallTimeout: options.stallTimeout ?? endpoint.stallTimeout ?? channel.stallTimeout,
            transport: selection.transport(for: endpoint),
            options: options
        )
    }

    /// Returns the call for a request built by hand, possibly with an untrusted URL.
    func call(
        _ request: Request,
        _ authorization: AuthorizationRequirement? = nil,
        _ options: CallOptions
    ) -> NetworkCall {
        // If the channel has no host, a URL may lead anywhere, so the credential must be requested
        // explicitly.
        let usual: AuthorizationRequirement = channel.host == nil ? .never : .optional
        return NetworkCall(
            subject: "\(request.method) \(request.origin)\(TargetPath(request.target).path)",
            request: request,
            authorization: authorization ?? options.authorization ?? usual,
            validation: options.validation ?? channel.validation,
            decoder: options.decoder,
            timeout: options.timeout ?? channel.timeout,
            stallTimeout: options.stallTimeout ?? channel.stallTimeout,
            transport: nil,
            options: options
        )
    }

    private func run<Result: Sendable>(
        _ call: NetworkCall,
        _ body:
            @escaping @Sendable (NetworkCall, inout NetworkExchange) async throws -> Result
    ) async throws(NetworkError) -> (Result, NetworkExchange) {
        var exchange = beginExchange(of: call)
        report { .started(exchange) }
        do {
            try call.request.headers.checkFitness()
            if let timeout = call.timeout, timeout <= .zero {
                throw NetworkError.timeout(.total, after: call.timeSetting)
            }
            let result = try await runWithinLimit(call, &exchange, body)
            reportRedirects(exchange)
            report { .received(exchange) }
            return (result, exchange)
        } catch {
            var error = NetworkError.of(error).seenByCaller.asking(call.request)
            error.response?.decoder = decoder(of: call)
            exchange.status = error.response?.status
            exchange.headers = error.response?.headers
            exchange.duration = exchange.started.duration(to: channel.clock.now)
            reportRedirects(exchange)
            report { .failed(exchange, error) }
            throw error
        }
    }

    /// Creates the record of a call.
    private func beginExchange(of call: NetworkCall) -> NetworkExchange {
        let started = channel.clock.now
        var context = RequestContext(requestID: CallID.next())
        if let setting = call.timeSetting, let timeout = call.timeout {
            context.setDeadline(started + timeout, by: setting)
        }
        context.retryLimit = call.options.retries
        context.sender = ObjectIdentifier(chains)
        var exchange = NetworkExchange(
            call.subject,
            request: call.request,
            context: context,
            started: started
        )
        if call.request.body.isStream, isListenedTo { exchange.sent = ByteCount() }
        return exchange
    }

    /// Runs a call, and cancels it at its deadline unless the parts of the chain watch the time.
    private func runWithinLimit<Result: Sendable>(
        _ call: NetworkCall,
        _ exchange: inout NetworkExchange,
        _ body:
            @escaping @Sendable (NetworkCall, inout NetworkExchange) async throws -> Result
    ) async throws -> Result {
        guard let deadline = exchange.context.deadline, isWatchedAsAWhole(call) else {
            return try await body(call, &exchange)
        }
        // The report contains all attempts, even if the call fails.
        let kept = SharedValue(exchange)
        defer { exchange = kept.value }
        return try await TimeLimit.run(
            until: deadline,
            on: channel.clock,
            setBy: call.timeSetting
        ) {
            try await kept.change { try await body(call, &$0) }
        }
    }

    /// Returns the decoder of a call: its own, the endpoint's or the channel's.
    func decoder(of call: NetworkCall) -> any ContentDecoding {
        call.decoder ?? channel.decoder
    }

    /// Sends the request, authorized as the call requires, and validates the response.
    private func send(
        _ call: NetworkCall,
        _ exchange: inout NetworkExchange
    ) async throws -> Response {
        let response = stallLimited(try await answer(call, &exchange), call)
        exchange.status = response.status
        exchange.headers = response.headers
        guard let cause = call.validation.objection(to: response) else { return response }
        let refusal = exchange.context.redirects.last?.refusal
        let objection = refusal.map { "\(cause); the redirect was not followed: \($0)" } ?? cause
        let lack = await lackOfCredential(exchange.context)
        guard case .stream = response.body else {
            throw await NetworkError.unacceptable(response, objection).because(of: lack)
        }
        return try await TimeLimit.run(
            until: contentDeadline(call, exchange),
            on: channel.clock,
            setBy: call.timeSetting
        ) {
            throw await NetworkError.unacceptable(response, objection).because(of: lack)
        }
    }

    /// Returns the reason why a refused credential could not be renewed; `nil` if no renewal failed.
    private func lackOfCredential(_ context: RequestContext) async -> NetworkError? {
        switch context.authorization?.notReplayed {
        case .refreshFailed, .reauthorizationRequired: break
        default: return nil
        }
        guard let authorizer = channel.authorizer else { return nil }
        do {
            // The reason is known, so nothing is waited for.
            _ = try await authorizer.credential(until: authorizer.clock.now)
            return nil
        } catch let error as NetworkError
            where error.kind == .credentialUnavailable || error.kind == .reauthorizationRequired
        {
            return error
        } catch {
            return nil
        }
    }

    private func stallLimited(_ response: Response, _ call: NetworkCall) -> Response {
        guard let limit = call.stallTimeout else { return response }
        var response = response
        response.body = StallLimitedBody.body(response.body, limit: limit, channel.clock)
        return response
    }

    private func answer(
        _ call: NetworkCall,
        _ exchange: inout NetworkExchange
    ) async throws -> Response {
        let isSigned = call.authorization != .never && channel.authorizer != nil
        guard isSigned || call.authorization != .required else {
            throw NetworkError(
                .reauthorizationRequired,
                side: .downstream,
                retry: .safe,
                detail: "\(call.subject) requires authorization, and the channel has no authorizer"
            )
        }
        var request = call.request
        if isSigned { request.body = request.body.watched }
        do {
            return try await chain(call, exchange, isSigned ? .signed : .unsigned)
                .send(request, context: &exchange.context)
        } catch let error as NetworkError
            where isSigned && call.authorization == .optional
            && error.kind == .reauthorizationRequired && exchange.context.attempts == 0
            && (error.underlying as? OAuthFailure)?.signIn != .ended
        {
            // No user has signed in, and the request has not been sent yet.
            guard let again = request.again() else { throw error }
            exchange.context.authorization = nil
            return try await chain(call, exchange, .unsigned)
                .send(again, context: &exchange.context)
        }
    }

    private func chain(
        _ call: NetworkCall,
        _ exchange: NetworkExchange,
        _ signing: CallSigning
    ) -> RequestChain {
        let report = call.options.sendReport
        let progress = exchange.sent.map { counting($0, report) } ?? report
        let (redirects, decompression) = (call.options.redirects, call.options.decompression)
        if call.transport == nil, call.options.interceptors.isEmpty, progress == nil,
            redirects == nil, decompression == nil
        {
            return chains.chain(to: call.request.origin, signing, of: channel)
        }
        let transport = call.transport ?? channel.transport
        return channel.chain(
            to: call.request.origin,
            signing,
            extra: call.options.interceptors,
            redirects: redirects,
            decompression: decompression,
            transport: progress.map { MeteringTransport(transport, $0) } ?? transport
        )
    }

    /// Reports each followed redirect.
    private func reportRedirects(_ exchange: NetworkExchange) {
        for redirect in exchange.context.redirects where redirect.refusal == nil {
            report { .redirected(exchange, redirect) }
        }
    }

    /// Returns a hook that stores the number of sent bytes and calls the hook of the call.
    private func counting(
        _ sent: ByteCount,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) -> @Sendable (TransferProgress) -> Void {
        { passed in
            sent.store(passed.transferred)
            progress?(passed)
        }
    }

    private var isListenedTo: Bool { channel.logger != nil || channel.onEvent != nil }

    /// Notifies the logger and the hook; the event is created only if there is one.
    func report(_ event: () -> NetworkEvent) {
        guard isListenedTo else { return }
        let event = event()
        channel.logger?.log(event)
        channel.onEvent?(event)
    }
}

/// The selection of the transport for an endpoint.
enum TransportSelection<Item: Endpoint>: Sendable {
    case ofChannel
    case by(@Sendable (Item) -> (any HTTPTransport)?)

    func transport(for endpoint: Item) -> (any HTTPTransport)? {
        switch self {
        case .ofChannel: nil
        case .by(let select): select(endpoint)
        }
    }
}
