import FoundationEssentials

/// One event of `text/event-stream` (WHATWG HTML §9.2.6).
public struct ServerSentEvent: Sendable {
    /// Its type; `message` where the stream names none.
    public var type: String
    /// Its data; several `data` lines are joined with line feeds.
    public var data: String
    /// The last id that the stream named, for `Last-Event-ID`; empty if none.
    public var id: String
    /// The wait before connecting again, if the stream has set one since the last event.
    public var retry: Duration?
    /// The decoder of the call that received the event.
    var decoder: (any ContentDecoding)?

    /// Makes an event.
    public init(type: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.type = type
        self.data = data
        self.id = id
        self.retry = retry
    }
}

extension ServerSentEvent {
    /// Decodes the data, with the decoder of the call, the endpoint or the channel that brought the
    /// event unless another is given.
    ///
    /// - Parameters:
    ///   - type: the type of the data.
    ///   - decoder: in place of theirs; `JSONDecoder` for an event that was made by hand.
    /// - Returns: the value.
    /// - Throws: `undecodable_response`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: (any ContentDecoding)? = nil
    ) throws(NetworkError) -> Value {
        do {
            return try (decoder ?? self.decoder ?? JSONDecoder())
                .decode(type, from: Data(data.utf8))
        } catch {
            throw .undecodable("the data of the event is no \(type)", error)
        }
    }
}

extension ServerSentEvent: Hashable {
    /// Whether both have the same content; the decoder does not count.
    public static func == (left: ServerSentEvent, right: ServerSentEvent) -> Bool {
        left.type == right.type && left.data == right.data && left.id == right.id
            && left.retry == right.retry
    }

    /// Feeds the content of the event.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(data)
        hasher.combine(id)
        hasher.combine(retry)
    }
}

extension LineStream.Iterator {
    /// The lines of an event stream: a last line without a line end is dropped (WHATWG HTML §9.2.5),
    /// since part of a time or an id would be another one.
    static func events(of body: HTTPBody) -> LineStream.Iterator {
        LineStream.Iterator(body, limit: LineSplitter.defaultLimit, openLine: .dropped)
    }
}

/// The rules of an event stream, line by line.
struct EventParser {
    private var type = ""
    /// The longest data of an event, in bytes: 16 MiB, the limit of a channel for any response.
    private static let limit = 16 * 1024 * 1024
    private var data: [String] = []
    private var length = 0
    private var id = ""
    private var retry: Duration?
    private var isFirst = true
    private var decoder: (any ContentDecoding)?
    /// The id that a connection after this one names; set where an event ends, with data or without.
    private(set) var lastEventID = ""
    /// The wait before connecting again, once the stream has set one.
    private(set) var reconnectionTime: Duration?

    /// Begins with another connection of the same feed: an unfinished event is dropped.
    mutating func begin(after lastEventID: String, decoder: (any ContentDecoding)? = nil) {
        self.decoder = decoder
        (type, data, length, retry, isFirst) = ("", [], 0, nil, true)
        (id, self.lastEventID) = (lastEventID, lastEventID)
    }

    /// Takes a line; an empty one may complete an event.
    ///
    /// - Throws: `http_response_body_size` for an event that does not end within the limit.
    mutating func push(_ line: String) throws(NetworkError) -> ServerSentEvent? {
        var line = line[...]
        // Scalars and bytes, not characters: a mark that combines must not hide a colon.
        if isFirst, line.unicodeScalars.first == "\u{FEFF}" {
            line = Substring(line.unicodeScalars.dropFirst())
        }
        isFirst = false
        guard !line.isEmpty else { return complete() }
        let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        let name = line[..<colon]
        var rest = line.utf8[colon...].dropFirst()
        if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
        let value = String(decoding: rest, as: UTF8.self)
        switch name {
        case "event": type = value
        case "data":
            data.append(value)
            length += value.utf8.count + 1
            guard length <= EventParser.limit else {
                throw NetworkError.tooLarge(limit: EventParser.limit)
            }
        case "id": if !value.utf8.contains(0) { id = value }
        case "retry":
            if !value.isEmpty, value.utf8.allSatisfy(Grammar.isDigit), let time = Int64(value) {
                retry = .milliseconds(time)
                reconnectionTime = retry
            }
        default: break
        }
        return nil
    }

    private mutating func complete() -> ServerSentEvent? {
        defer {
            type = ""
            data = []
            length = 0
        }
        lastEventID = id
        guard !data.isEmpty else { return nil }
        defer { retry = nil }
        var event = ServerSentEvent(
            type: type.isEmpty ? "message" : type,
            data: data.joined(separator: "\n"),
            id: id,
            retry: retry
        )
        event.decoder = decoder
        return event
    }
}

/// The events of some content; an event that is cut off by its end is dropped.
public struct EventStream: AsyncSequence, Sendable {
    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        private var lines: LineStream.Iterator
        private var parser = EventParser()

        init(_ body: HTTPBody, _ decoder: any ContentDecoding) {
            lines = .events(of: body)
            parser.begin(after: "", decoder: decoder)
        }

        /// The next event.
        ///
        /// - Throws: `NetworkError` when the content was cut short, a line is longer than 1 MiB or an
        ///   event longer than 16 MiB.
        public mutating func next() async throws(NetworkError) -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// As `next()`, for `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NetworkError) -> ServerSentEvent? {
            while let line = try await lines.next(isolation: actor) {
                if let event = try parser.push(line) { return event }
            }
            return nil
        }
    }

    private let body: HTTPBody
    private let decoder: any ContentDecoding

    init(_ body: HTTPBody, _ decoder: any ContentDecoding) {
        self.body = body
        self.decoder = decoder
    }

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(body, decoder) }
}
