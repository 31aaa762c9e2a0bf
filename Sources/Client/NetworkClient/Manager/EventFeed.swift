/// The events of an endpoint, over as many connections as needed (WHATWG HTML §9.2).
///
///     for try await event in manager.events(.news) { print(event.id, event.data) }
///
/// Each iteration is a separate feed, which connects when its first event is requested. After its connection
/// ends
/// or fails, it waits and reconnects with `Last-Event-ID`. The feed ends after a 204. It throws if the
/// response is
/// not an event stream, if another attempt would be futile (an untrusted certificate, no signed-in user), and
/// if
/// its task is canceled.
public struct EventFeed<Item: Endpoint>: AsyncSequence, Sendable {
    private let pipeline: CallPipeline<Item>
    private let makeCall: @Sendable () throws(NetworkError) -> NetworkCall
    private let reconnection: EventReconnection
    private let options: CallOptions

    init(
        _ pipeline: CallPipeline<Item>,
        _ reconnection: EventReconnection,
        _ options: CallOptions,
        _ makeCall: @escaping @Sendable () throws(NetworkError) -> NetworkCall
    ) {
        self.pipeline = pipeline
        self.makeCall = makeCall
        self.reconnection = reconnection
        self.options = options
    }

    /// Returns a feed that has not connected yet.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }
}

extension EventFeed {
    /// Reads the events, and connects if there is no connection.
    public struct Iterator: AsyncIteratorProtocol {
        private let feed: EventFeed
        private var parser = EventParser()
        private var lines: LineStream.Iterator?
        private var failures = 0
        /// The shortest wait before the next connection; zero if the last one has delivered an event.
        private var shortestWait = EventReconnection.shortest
        private var isOver = false

        init(_ feed: EventFeed) {
            self.feed = feed
            parser.begin(after: feed.reconnection.lastEventID)
        }

        /// The ID from which the next connection would resume; empty before the first.
        public var lastEventID: String { parser.lastEventID }

        /// Returns the next event; `nil` after the server has ended the feed with 204.
        ///
        /// - Throws: `NetworkError`.
        public mutating func next() async throws(NetworkError) -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, for `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NetworkError) -> ServerSentEvent? {
            while !isOver {
                do throws(NetworkError) {
                    if lines == nil { try await connect() }
                    while let line = try await lines?.next(isolation: actor) {
                        if let event = try parser.push(line) {
                            shortestWait = .zero
                            return event
                        }
                    }
                    if !isOver { try await pause() }
                } catch {
                    try await recover(from: error)
                }
            }
            return nil
        }

        /// Waits after a network failure; rethrows any other error, which ends the feed.
        private mutating func recover(from error: NetworkError) async throws(NetworkError) {
            failures += 1
            guard !Task.isCancelled, EventReconnection.isWorthwhile(after: error),
                failures <= feed.reconnection.attempts ?? .max
            else {
                isOver = true
                lines = nil
                throw Task.isCancelled ? NetworkError.cancelled : error
            }
            do throws(NetworkError) {
                try await pause()
            } catch {
                isOver = true
                throw error
            }
        }

        /// Waits for the reconnection time and drops an unfinished event.
        private mutating func pause() async throws(NetworkError) {
            lines = nil
            let clock = feed.pipeline.channel.clock
            let wait = feed.reconnection.wait(
                after: failures,
                retry: parser.reconnectionTime,
                atLeast: shortestWait
            )
            shortestWait = EventReconnection.shortest
            do { try await clock.sleep(until: clock.now + wait) } catch {
                throw NetworkError.cancelled
            }
        }

        private mutating func connect() async throws(NetworkError) {
            let call = try feed.call(after: parser.lastEventID)
            let (response, _) = try await feed.pipeline.streamed(call)
            guard response.status != 204 else {
                response.body.cancel()
                isOver = true
                return
            }
            // Check the type as if there were content, because an empty response may still be an event
            // stream.
            var typed = response
            typed.body = .stream(NoEvents(), length: nil)
            let decoder = feed.pipeline.decoder(of: call)
            if let objection = EventFeed.rule.objection(to: typed) {
                var error = await NetworkError.unacceptable(response, objection)
                error.response?.decoder = decoder
                throw error.asking(call.request)
            }
            failures = 0
            parser.begin(after: parser.lastEventID, decoder: decoder)
            lines = .events(of: feed.options.metered(response.body))
        }
    }

    private static var rule: SuccessRule { SuccessRule.ok.accepting("text/event-stream") }

    private func call(after lastEventID: String) throws(NetworkError) -> NetworkCall {
        let call = try makeCall()
        var request = call.request
        request.headers.set(HTTPField(validated: .accept, "text/event-stream"))
        request.headers.set(HTTPField(validated: .cacheControl, "no-store"))
        // The server chooses the event IDs; omit one that is not a valid field value.
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var id = lastEventID.drop(while: isBlank)
        while let last = id.last, isBlank(last) { id.removeLast() }
        if !id.isEmpty, let field = HTTPField("Last-Event-ID", String(id)) {
            request.headers.set(field)
        } else if !id.isEmpty, lastEventID == reconnection.lastEventID {
            // This ID is the program's own, so it must be valid.
            throw HTTPHeaders.unfit("Last-Event-ID")
        }
        var rule = EventFeed.rule
        rule.statuses.insert(204)
        return call.with(request, rule)
    }
}

/// A placeholder for content of unknown length.
private final class NoEvents: BodySource {
    func next() async throws -> ByteSlice? { nil }
}

extension NetworkManager {
    /// Returns the server-sent events of an endpoint, and reconnects when a connection ends.
    ///
    /// If one connection is enough, use the `events` of `stream(_:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation; its content must be repeatable.
    ///   - reconnection: the rules for reconnections, and the last event of an earlier feed.
    ///   - options: the settings of each request that differ from its channel; the timeout applies to each
    ///     head.
    /// - Returns: the events, as an asynchronous sequence that throws `NetworkError`.
    public func events(
        _ endpoint: Item,
        reconnecting reconnection: EventReconnection = EventReconnection(),
        options: CallOptions = CallOptions()
    ) -> EventFeed<Item> {
        EventFeed(pipeline, reconnection, options) { [pipeline] () throws(NetworkError) in
            try pipeline.call(endpoint, options)
        }
    }
}
