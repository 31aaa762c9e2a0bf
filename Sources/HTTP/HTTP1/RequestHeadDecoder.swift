import NetproxyBytes
import NetproxyHTTPMessage

/// Decodes the bytes of a request head into a `RequestHead`, or refuses them (RFC 9112 §3, §5, §6).
///
/// The decoder is reused for every request of a connection. After an error it must not be used again.
package struct RequestHeadDecoder: Sendable {
    /// Space in the header bytes for added fields: Via, a request ID.
    ///
    /// A credential needs no space, since its bytes are shared; a proof is longer, and causes a reallocation.
    /// With this size, most heads stay below the kilobyte that malloc serves from a thread's own list.
    private static let spare = 256
    private let targetLimit: Int
    private let hostRule: HTTP1Limits.HostRule
    private var lines: LineScanner
    /// The most recent Host and its parsed form; most requests of a connection name the same host.
    private var lastHost: (bytes: [UInt8], authority: Authority)?
    /// The number of bytes examined for line ends; a test compares it with the length of the input.
    package var examinedBytes: Int { lines.examined }

    /// Whether a byte of the next head has arrived, not counting an empty line before it.
    package var hasBegun: Bool { lines.hasBegun }

    package init(limits: HTTP1Limits = HTTP1Limits()) {
        targetLimit = limits.targetSize
        hostRule = limits.hostRule
        lines = LineScanner(.requestLine, limits: limits)
    }

    /// Decodes the head at the start of `bytes`; `consumed` is its length.
    ///
    /// If the result is `nil`, call again with the same bytes followed by more.
    package mutating func decode(
        _ bytes: Span<UInt8>
    ) throws(HTTP1Error) -> (head: RequestHead, consumed: Int)? {
        guard let length = try scan(bytes) else { return nil }
        let head = bytes.extracting(0..<length)
        let line = try RequestLine(head.extracting(lines.start..<lines.lineEnds[0]), targetLimit)
        var fields = try FieldSection(
            head,
            lines: lines,
            from: 1,
            spare: RequestHeadDecoder.spare
        )
        let framing = try BodyLength(ofRequest: line.version, fields, in: head).framing
        let host = try host(fields, line, in: head)
        if host == nil, fields.hosts > 0 { fields.dropHost() }
        // RFC 9110 §10.1.1: an expectation in HTTP/1.0 is ignored.
        let isExpectant =
            line.version == .http11 ? try fields.expectsContinue(in: head) : false
        let request = RequestHead(
            method: line.method,
            target: line.target,
            version: line.version,
            headers: fields.headers,
            framing: framing,
            keepAlive: fields.connection.persists(line.version),
            expectsContinue: isExpectant && framing != .none && framing != .length(0),
            host: host
        )
        lines.reset()
        return (request, length)
    }

    private mutating func scan(_ bytes: Span<UInt8>) throws(HTTP1Error) -> Int? {
        do throws(HTTP1Error) {
            return try lines.scan(bytes)
        } catch {
            // RFC 8446 §5.1: a TLS handshake begins with this byte, and no request does.
            throw !bytes.isEmpty && bytes[0] == 22 ? .encryptedRequest : error
        }
    }

    /// Returns the method, target and content type of a refused head.
    ///
    /// Returns `nil` if the request line is incomplete, or is the reason for the refusal. `bytes` must be the
    /// bytes of the last call to `decode`.
    package func requestLine(of bytes: Span<UInt8>) -> RequestHead? {
        guard let end = lines.lineEnds.first,
            let line = try? RequestLine(bytes.extracting(lines.start..<end), targetLimit)
        else { return nil }
        return .refused(
            line.method,
            line.target,
            contentType: RequestHead.contentType(in: bytes)
        )
    }

    /// Requires exactly one Host that equals the target's authority (RFC 9112 §3.2), and is well-formed
    /// unless `hostRule` permits another.
    private mutating func host(
        _ fields: FieldSection,
        _ line: RequestLine,
        in head: Span<UInt8>
    ) throws(HTTP1Error) -> Authority? {
        guard fields.hosts > 0 else {
            guard line.version == .http10 else { throw .missingHost }
            switch line.target {
            case .absolute(_, let authority, _), .authority(let authority): return authority
            case .origin, .asterisk: return nil
            }
        }
        guard fields.hosts == 1 else { throw .repeatedHost }
        guard let host = authority(fields.host(in: head)) else {
            guard hostRule == .optional, line.target.isPath else { throw .malformedHost }
            return nil
        }
        switch line.target {
        case .absolute(let scheme, let authority, _):
            guard host.matches(authority, scheme: scheme) else { throw .hostMismatch }
        case .authority(let authority):
            // Some clients omit the port in Host.
            guard host.host == authority.host, host.port == nil || host.port == authority.port
            else { throw .hostMismatch }
        case .origin, .asterisk: break
        }
        return host
    }

    private mutating func authority(_ bytes: Span<UInt8>) -> Authority? {
        if let lastHost, bytes.isSame(as: lastHost.bytes.span) { return lastHost.authority }
        guard let authority = Authority(bytes) else { return nil }
        lastHost = (bytes.array, authority)
        return authority
    }
}

/// The request line: exactly `token SP target SP HTTP/1.[01]` (RFC 9112 §3).
private struct RequestLine {
    let method: HTTPMethod
    let target: RequestTarget
    let version: HTTP1Version

    init(_ line: Span<UInt8>, _ targetLimit: Int) throws(HTTP1Error) {
        var methodEnd = 0
        while methodEnd < line.count, Grammar.isTokenByte(line[methodEnd]) { methodEnd += 1 }
        guard methodEnd > 0, methodEnd < line.count, line[methodEnd] == 0x20,
            let targetEnd = line.firstIndex(of: 0x20, from: methodEnd + 1)
        else { throw .malformedRequestLine }
        let version = try HTTP1Version(
            line.extracting((targetEnd + 1)..<line.count),
            else: .malformedRequestLine
        )
        let targetBytes = line.extracting((methodEnd + 1)..<targetEnd)
        guard targetBytes.count <= targetLimit else { throw .targetTooLong }
        let method = HTTPMethod(validated: line.extracting(0..<methodEnd))
        guard let target = RequestTarget(targetBytes, for: method) else {
            throw RequestTarget.isWellFormed(targetBytes) ? .unsuitableTarget : .malformedTarget
        }
        self.method = method
        self.target = target
        self.version = version
    }
}

extension RequestTarget {
    /// Whether the target names no authority.
    fileprivate var isPath: Bool {
        switch self {
        case .origin, .asterisk: true
        case .absolute, .authority: false
        }
    }
}
