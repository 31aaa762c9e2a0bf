import NetproxyBytes
package import NetproxyHTTP1
package import NetproxyHTTPMessage

/// All messages that one side sends on a connection, decoded as the bytes arrive.
package struct Conversation {
    /// A completely decoded request.
    package struct Request {
        package let head: RequestHead
        package let body: [UInt8]
        package let trailers: HTTPHeaders?
    }

    /// A completely decoded response.
    package struct Response {
        package let head: ResponseHead
        package let body: [UInt8]
        package let trailers: HTTPHeaders?
    }

    /// A summary of each decoded message, and the error if there is one.
    package private(set) var verdict: [String] = []
    /// The completely decoded requests.
    package private(set) var requests: [Request] = []
    /// The completely decoded responses.
    package private(set) var responses: [Response] = []
    private let bytes: [UInt8]
    private let limits: HTTP1Limits
    private var ends: [Int]
    private var available = 0
    private var position = 0

    /// Decodes the bytes of a case, split at the cuts.
    package init(_ corpusCase: CorpusCase, cutAt cuts: [Int] = []) {
        self.init(corpusCase.bytes, corpusCase.direction, cutAt: cuts)
    }

    /// Decodes bytes split at the cuts.
    package init(
        _ bytes: [UInt8],
        _ direction: CorpusCase.Direction,
        cutAt cuts: [Int] = [],
        limits: HTTP1Limits = HTTP1Limits()
    ) {
        self.bytes = bytes
        self.limits = limits
        ends = cuts.reversed()
        ends.insert(bytes.count, at: 0)
        do throws(HTTP1Error) {
            switch direction {
            case .request: try readRequests()
            case .response(let method):
                try readResponses(answering: HTTPMethod(rawValue: method) ?? .get)
            }
        } catch {
            let status = direction == .request ? error.status : 502
            verdict.append("refused \(error) \(status)")
        }
    }

    private mutating func readRequests() throws(HTTP1Error) {
        var decoder = RequestHeadDecoder(limits: limits)
        while position < bytes.count {
            let head = try readHead { bytes throws(HTTP1Error) in try decoder.decode(bytes) }
            guard let head else { return verdict.append("unfinished") }
            guard let (body, trailers) = try readBody(head.framing, atEnd: "unfinished") else {
                return
            }
            verdict.append(Conversation.summary(head, body, trailers))
            requests.append(Request(head: head, body: body, trailers: trailers))
            guard head.keepAlive else {
                if position < bytes.count { verdict.append("ignored \(bytes.count - position)") }
                return
            }
        }
    }

    private mutating func readResponses(answering method: HTTPMethod) throws(HTTP1Error) {
        while true {
            var decoder = ResponseHeadDecoder(limits: limits)
            let head = try readHead { bytes throws(HTTP1Error) in
                try decoder.decode(bytes, answering: method)
            }
            guard let head else { return verdict.append("unfinished") }
            guard let (body, trailers) = try readBody(head.framing, atEnd: "cut") else { return }
            verdict.append(Conversation.summary(head, body, trailers))
            responses.append(Response(head: head, body: body, trailers: trailers))
            guard head.status.kind == .informational, head.status != 101 else { break }
        }
        if position < bytes.count { verdict.append("surplus \(bytes.count - position)") }
    }

    private mutating func readHead<Head>(
        _ decode: (Span<UInt8>) throws(HTTP1Error) -> (head: Head, consumed: Int)?
    ) throws(HTTP1Error) -> Head? {
        repeat {
            guard available > position else { continue }
            if let (head, consumed) = try decode(bytes.span.extracting(position..<available)) {
                position += consumed
                return head
            }
        } while arrive()
        return nil
    }

    /// Makes the next piece available; false at the end of the stream.
    private mutating func arrive() -> Bool {
        guard let end = ends.popLast() else { return false }
        available = end
        return true
    }

    private mutating func readBody(
        _ framing: BodyFraming,
        atEnd ending: String
    ) throws(HTTP1Error) -> ([UInt8], HTTPHeaders?)? {
        var decoder = BodyDecoder(framing, limits: limits)
        var body: [UInt8] = []
        while !decoder.isComplete {
            switch try decoder.next(bytes.span.extracting(position..<available)) {
            case .end(let consumed):
                position += consumed
            case .data(let skip, let count):
                position += skip
                body += bytes[position..<(position + count)]
                position += count
            case .needMore(let consumed):
                position += consumed
                if arrive() { continue }
                guard framing == .untilClose else {
                    verdict.append(ending)
                    return nil
                }
                try decoder.endOfStream()
            }
        }
        return (body, decoder.trailers)
    }
}

extension Conversation {
    private static func summary(
        _ head: RequestHead,
        _ body: [UInt8],
        _ trailers: HTTPHeaders?
    ) -> String {
        let target = "\(head.target)"
        return [
            "\(head.method)",
            target.utf8.count > 200 ? "/#\(target.utf8.count)" : target,
            version(head.version),
            "host=\(head.host.map { "\($0)" } ?? "-")",
            content(head.framing, body, trailers),
            head.keepAlive ? "keep" : "close",
        ].joined(separator: " ") + (head.expectsContinue ? " expect" : "")
    }

    private static func summary(
        _ head: ResponseHead,
        _ body: [UInt8],
        _ trailers: HTTPHeaders?
    ) -> String {
        let announced = head.announcedLength.map { " announced=\($0)" } ?? ""
        return [
            "\(head.status)",
            version(head.version),
            content(head.framing, body, trailers) + announced,
            head.keepAlive ? "keep" : "close",
        ].joined(separator: " ")
    }

    private static func version(_ version: HTTP1Version) -> String {
        version == .http11 ? "HTTP/1.1" : "HTTP/1.0"
    }

    private static func content(
        _ framing: BodyFraming,
        _ body: [UInt8],
        _ trailers: HTTPHeaders?
    ) -> String {
        let text = "\"\(CorpusCase.escaped(body))\""
        let names = trailers.map { " trailers=" + $0.map(\.name.text).joined(separator: ",") } ?? ""
        return switch framing {
        case .none: "none"
        case .length: "length=\(text)"
        case .chunked: "chunked=\(text)\(names)"
        case .untilClose: "close=\(text)"
        }
    }
}
