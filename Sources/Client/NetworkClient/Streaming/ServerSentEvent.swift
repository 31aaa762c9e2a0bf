import FoundationEssentials

/// An event of `text/event-stream` (WHATWG HTML §9.2.6).
public struct ServerSentEvent: Sendable {
    /// The type; `message` if the stream sets none.
    public var type: String
    /// The data; several `data` lines are joined with line feeds.
    public var data: String
    /// The last ID in the stream, for `Last-Event-ID`; empty if there is none.
    public var id: String
    /// The wait before a reconnection, if the stream has set it since the last event.
    public var retry: Duration?
    /// The decoder of the call that received the event.
    var decoder: (any ContentDecoding)?

    /// Creates an event.
    public init(type: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.type = type
        self.data = data
        self.id = id
        self.retry = retry
    }
}

extension ServerSentEvent {
    /// Decodes the data, by default with the decoder of the call, the endpoint or the channel.
    ///
    /// - Parameters:
    ///   - type: the type of the data.
    ///   - decoder: a decoder that replaces theirs; the default for an event created by hand is
    ///     `JSONDecoder`.
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
    /// Whether both have the same content; the decoder is ignored.
    public static func == (left: ServerSentEvent, right: ServerSentEvent) -> Bool {
        left.type == right.type && left.data == right.data && left.id == right.id
            && left.retry == right.retry
    }

    /// Hashes the content of the event.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(data)
        hasher.combine(id)
        hasher.combine(retry)
    }
}

extension LineStream.Iterator {
    /// Returns the lines of an event stream, without a last line that has no line end (WHATWG HTML §9.2.5).
    ///
    /// A truncated time or ID would be a different one.
    static func events(of body: HTTPBody) -> LineStream.Iterator {
        LineStream.Iterator(body, limit: LineSplitter.defaultLimit, openLine: .dropped)
    }
}

/// Parses an event stream, line by line.
struct EventParser {
    private var type = ""
    /// The maximum length of an event's data, in bytes: 16 MiB, the default limit of a channel for any
    /// response.
    private static let limit = 16 * 1024 * 1024
    private var data: [String] = []
    private var length = 0
    private var id = ""
    private var retry: Duration?
    private var isFirst = true
    private var decoder: (any ContentDecoding)?
    /// The ID for the next connection; updated at the end of each event, with or without data.
    private(set) var lastEventID = ""
    /// The wait before a reconnection, if the stream has set it.
    private(set) var reconnectionTime: Duration?

    /// Starts another connection of the same feed, and drops an unfinished event.
    mutating func begin(after lastEventID: String, decoder: (any ContentDecoding)? = nil) {
        self.decoder = decoder
        (type, data, length, retry, isFirst) = ("", [], 0, nil, true)
        (id, self.lastEventID) = (lastEventID, lastEventID)
    }

    /// Processes a line; an empty line may complete an event.
    ///
    /// - Throws: `http_response_body_size` for an event that does not end within the limit.
    mutating func push(_ line: String) throws(NetworkError) -> ServerSentEvent? {
        var line = line[...]
        // Use scalars and bytes, not characters, so that a combining mark cannot hide a colon.
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

/// The events of a body; an incomplete last event is dropped.
public struct EventStream: AsyncSequence, Sendable {
    /// Reads the events.
    public struct Iterator: AsyncIteratorProtocol {
        private var lines: LineStream.Iterator
        private var parser = EventParser()

        init(_ body: HTTPBody, _ decoder: any ContentDecoding) {
            lines = .events(of: body)
            parser.begin(after: "", decoder: decoder)
        }

        /// Returns the next event; `nil` at the end.
        ///
        /// - Throws: `NetworkError` if the content was cut short, a line is longer than 1 MiB or an event
        ///   longer than
        ///   16 MiB.
        public mutating func next() async throws(NetworkError) -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, for `for try await`.
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

    /// Returns an iterator over the events.
    public func makeAsyncIterator() -> Iterator { Iterator(body, decoder) }
}
