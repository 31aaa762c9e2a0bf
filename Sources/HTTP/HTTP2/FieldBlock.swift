import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// The field block of one message, written as the equivalent HTTP/1 head.
///
/// So one grammar, one set of limits and one framing apply to both versions, and a message has the same
/// meaning in both.
struct FieldBlock {
    enum Kind {
        case request, response, trailers
    }

    private(set) var kind = Kind.trailers
    /// The first fault; later fields are not written.
    private(set) var fault: HTTP2Fault?
    /// The text so far; complete after `end`.
    let output = OutputBuffer(capacity: 1024)
    private let cookies = OutputBuffer(capacity: 64)
    private let limit: Int
    private let hostRule: HTTP1Limits.HostRule
    private var method: [UInt8]?
    private var path: [UInt8]?
    private var scheme: [UInt8]?
    private var authority: [UInt8]?
    private var status: Int?
    private var isInFields = false
    /// Whether the fields contain the length of the content.
    private var hasLength = false
    private var hasHost = false
    /// The Content-Type that followed the fault.
    private var lateContentType: String?

    init(limits: HTTP1Limits) {
        limit = limits.sectionSize
        hostRule = limits.hostRule
    }

    mutating func begin(_ kind: Kind) {
        self.kind = kind
        fault = nil
        output.removeAll()
        cookies.removeAll()
        (method, path, scheme, authority, status) = (nil, nil, nil, nil, nil)
        (isInFields, hasLength, hasHost) = (false, false, false)
        lateContentType = nil
    }

    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard fault == nil else {
            if name.isExactly("content-type") {
                lateContentType = RequestHead.contentType(value)
            }
            return
        }
        do throws(HTTP2Fault) {
            try note(name, value)
        } catch {
            fault = error
        }
    }

    private mutating func note(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2Fault) {
        guard !name.isEmpty else { throw .malformedFieldName }
        // Reject line breaks here, before the HTTP/1 parser sees them.
        guard value.firstControl(in: 0..<value.count) == value.count || FieldBlock.isText(value)
        else { throw .malformedFieldValue }
        let isPseudo = name[0] == UInt8(ascii: ":")
        for index in (isPseudo ? 1 : 0)..<name.count {
            let byte = name[index]
            guard Grammar.isTokenByte(byte), byte &- 0x41 >= 26 else { throw .malformedFieldName }
        }
        if isPseudo { return try notePseudo(name, value) }
        if !isInFields { try beginFields() }
        // As in HTTP/1, although RFC 9113 §8.2.1 permits a refusal: clients read tokens from files.
        let value = value.extracting(Grammar.trimmed(value))
        if try isWritten(name, value) { return }
        guard output.count + name.count + value.count + 4 <= limit else {
            throw .message(.sectionTooLarge)
        }
        output.append(name)
        output.append(": ")
        output.append(value)
        output.append("\r\n")
    }

    /// Whether a field needs no line, or already has one.
    ///
    /// - Throws: `connectionField` for a field that belongs only in HTTP/1.
    private mutating func isWritten(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>
    ) throws(HTTP2Fault) -> Bool {
        let all = 0..<name.count
        switch name.count {
        case 2 where name.equals("te", in: all):
            // RFC 9113 §8.2.2: only `trailers` is permitted.
            guard value.equals("trailers", in: 0..<value.count) else { throw .connectionField }
        case 4 where name.equals("host", in: all): return try isSameHost(value)
        case 6 where name.equals("cookie", in: all):
            // RFC 9113 §8.2.3: join the fields into one line.
            if !cookies.isEmpty { cookies.append("; ") }
            cookies.append(value)
            guard output.count + cookies.count + 10 <= limit else {
                throw .message(.sectionTooLarge)
            }
            return true
        case 7 where name.equals("upgrade", in: all),
            10 where name.equals("connection", in: all),
            10 where name.equals("keep-alive", in: all),
            16 where name.equals("proxy-connection", in: all),
            17 where name.equals("transfer-encoding", in: all):
            throw .connectionField
        case 14 where name.equals("content-length", in: all): hasLength = true
        default: break
        }
        return false
    }

    /// Checks that a Host field equals `:authority` (RFC 9113 §8.3.1); returns whether it needs no line.
    private mutating func isSameHost(_ value: Span<UInt8>) throws(HTTP2Fault) -> Bool {
        guard kind == .request, let authority else {
            hasHost = true
            return false
        }
        guard !hasHost else { throw .message(.repeatedHost) }
        hasHost = true
        guard Grammar.equalIgnoringCase(authority.span, value) else {
            throw .message(.hostMismatch)
        }
        return true
    }

    private mutating func notePseudo(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>
    ) throws(HTTP2Fault) {
        guard !isInFields, kind != .trailers else { throw .misplacedPseudoField }
        guard !value.isEmpty else { throw .missingPseudoField }
        let all = 0..<name.count
        switch (kind, name.count) {
        case (.request, 7) where name.equals(":method", in: all):
            guard Grammar.isToken(value) else { throw .malformedPseudoField }
            try FieldBlock.set(&method, value)
        case (.request, 5) where name.equals(":path", in: all):
            guard Grammar.isTarget(value) else { throw .message(.malformedTarget) }
            try FieldBlock.set(&path, value)
        case (.request, 7) where name.equals(":scheme", in: all):
            try FieldBlock.set(&scheme, value)
        case (.request, 10) where name.equals(":authority", in: all):
            guard hostRule == .optional || Grammar.isTarget(value) else {
                throw .message(.malformedHost)
            }
            try FieldBlock.set(&authority, value)
        case (.response, 7) where name.equals(":status", in: all):
            guard value.count == 3, Grammar.isDigit(value[0]), Grammar.isDigit(value[1]),
                Grammar.isDigit(value[2])
            else { throw .malformedPseudoField }
            guard status == nil else { throw .repeatedPseudoField }
            status = value.indices.reduce(0) { $0 * 10 + Int(value[$1] & 15) }
        default: throw .unknownPseudoField
        }
    }

    private static func set(
        _ field: inout [UInt8]?,
        _ value: Span<UInt8>
    ) throws(HTTP2Fault) {
        guard field == nil else { throw .repeatedPseudoField }
        var bytes: [UInt8] = []
        bytes.append(value)
        field = bytes
    }

    /// Whether the only control bytes are tabs.
    private static func isText(_ value: Span<UInt8>) -> Bool {
        for index in value.indices where !Grammar.isFieldValueByte(value[index]) { return false }
        return true
    }

    /// Writes the first line from the pseudo-fields.
    private mutating func beginFields() throws(HTTP2Fault) {
        isInFields = true
        switch kind {
        case .trailers: break
        case .response:
            guard let status else { throw .missingPseudoField }
            output.append(status < 100 ? "HTTP/1.1 0" : "HTTP/1.1 ")
            output.append(decimal: status)
            output.append("\r\n")
        case .request: try beginRequest()
        }
    }

    private mutating func beginRequest() throws(HTTP2Fault) {
        guard let method else { throw .missingPseudoField }
        let isConnect = method.span.isExactly("CONNECT")
        output.append(method)
        output.append(0x20)
        if isConnect {
            guard let authority, path == nil, scheme == nil, Grammar.isTarget(authority.span)
            else { throw .malformedPseudoField }
            output.append(authority)
        } else {
            guard let path, let scheme else { throw .missingPseudoField }
            // Only a path is permitted, so that it cannot contain an authority.
            let isOptions = method.span.isExactly("OPTIONS")
            guard path[0] == UInt8(ascii: "/") || path == [UInt8(ascii: "*")] && isOptions else {
                throw .message(.unsuitableTarget)
            }
            let name = scheme.span
            guard
                name.equals("http", in: 0..<name.count) || name.equals("https", in: 0..<name.count)
            else { throw .unsupportedScheme }
            output.append(path)
        }
        output.append(" HTTP/1.1\r\n")
        if let authority {
            output.append("host: ")
            output.append(authority)
            output.append("\r\n")
        }
        guard output.count <= limit else { throw .message(.targetTooLong) }
    }

    /// Completes the text.
    ///
    /// - Parameter ends: whether the message ends with the block.
    mutating func end(endingMessage ends: Bool) {
        guard fault == nil else { return }
        do throws(HTTP2Fault) {
            if !isInFields { try beginFields() }
        } catch {
            fault = error
            return
        }
        if !cookies.isEmpty {
            output.append("cookie: ")
            output.append(cookies.span)
            output.append("\r\n")
        }
        // Content of unknown length is chunked in HTTP/1.
        let isInterim = status.map { (100..<200).contains($0) } ?? false
        if kind != .trailers, !ends, !hasLength, !isInterim {
            output.append("transfer-encoding: chunked\r\n")
        }
        output.append("\r\n")
    }

    /// The readable part of a refused request.
    var refusedRequest: RefusedRequest {
        var line: (method: HTTPMethod, path: String)?
        if let method, let path {
            line = (HTTPMethod(validated: method.span), path.span.string(in: 0..<path.count))
        }
        return RefusedRequest(
            line: line,
            contentType: lateContentType ?? RequestHead.contentType(in: output.span)
        )
    }
}
