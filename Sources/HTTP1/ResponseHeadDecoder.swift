import Bytes
package import HTTPMessage

/// Turns the bytes of a response head into a `ResponseHead`, or refuses them (RFC 9112 §4, §6.3).
///
/// Interim responses (1xx) come out like any other; the caller goes on until the final one.
package struct ResponseHeadDecoder: Sendable {
    /// Room in the header bytes for what is added on the way.
    private static let spare = 256
    private var lines: LineScanner

    package init(limits: HTTP1Limits = HTTP1Limits()) {
        lines = LineScanner(.statusLine, limits: limits)
    }

    /// Decodes the head that `bytes` starts with; `consumed` is its length.
    ///
    /// Nil: call again with the same bytes and more behind them.
    package mutating func decode(
        _ bytes: Span<UInt8>,
        answering method: HTTPMethod
    ) throws(HTTP1Error) -> (head: ResponseHead, consumed: Int)? {
        guard let length = try lines.scan(bytes) else { return nil }
        let head = bytes.extracting(0..<length)
        let (version, status) = try ResponseHeadDecoder.statusLine(
            head.extracting(lines.start..<lines.lineEnds[0])
        )
        let fields = try FieldSection(
            head,
            lines: lines,
            from: 1,
            spare: ResponseHeadDecoder.spare
        )
        let announced = try fields.framing(version, in: head)
        var response = ResponseHead(
            status: status,
            version: version,
            headers: fields.headers,
            framing: announced ?? .untilClose,
            keepAlive: fields.connection.persists(version),
            announcedLength: nil
        )
        try response.omitBody(answering: method, announced: announced)
        if response.framing == .untilClose { response.keepAlive = false }
        lines.reset()
        return (response, length)
    }

    /// `HTTP/1.[01] SP 3DIGIT [SP reason]`; some servers leave out the space of an empty reason.
    private static func statusLine(
        _ line: Span<UInt8>
    ) throws(HTTP1Error) -> (HTTP1Version, HTTPStatus) {
        guard line.count >= 8 else { throw .malformedStatusLine }
        let version = try HTTP1Version(line.extracting(0..<8), else: .malformedStatusLine)
        guard line.count >= 12, line[8] == 0x20, line.count == 12 || line[12] == 0x20 else {
            throw .malformedStatusLine
        }
        var code = 0
        for index in 9..<12 {
            guard Grammar.isDigit(line[index]) else { throw .malformedStatusLine }
            code = code * 10 + Int(line[index] & 15)
        }
        guard let status = HTTPStatus(rawValue: code) else { throw .malformedStatusLine }
        return (version, status)
    }
}

extension ResponseHead {
    /// Takes the body away where there is none whatever the fields say (RFC 9112 §6.3 ¶1, ¶2).
    fileprivate mutating func omitBody(
        answering method: HTTPMethod,
        announced: BodyFraming?
    ) throws(HTTP1Error) {
        let announcesContent = announced != nil && announced != .length(0)
        switch status.rawValue {
        case 100..<200:
            // Nobody can tell whether what follows is content or the final response.
            guard !announcesContent else { throw .framedInterimResponse }
        case 204:
            // What a confused server sends behind it must not be read as the next response.
            if announcesContent { keepAlive = false }
        case 200..<300 where method == .connect:
            break
        case 304:
            announcedLength = announced?.length
        default:
            guard method == .head else { return }
            announcedLength = announced?.length
        }
        framing = .none
    }
}

extension BodyFraming {
    fileprivate var length: Int? {
        if case .length(let length) = self { length } else { nil }
    }
}
