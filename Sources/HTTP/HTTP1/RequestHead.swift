import NetproxyBytes
package import NetproxyHTTPMessage

/// A validated request head.
///
/// `headers` contains all received fields, including framing and hop-by-hop fields.
package struct RequestHead: Sendable {
    package var method: HTTPMethod
    package var target: RequestTarget
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    /// Never `untilClose`.
    package var framing: BodyFraming
    /// Whether the sender allows another request on the connection.
    package var keepAlive: Bool
    /// Whether the sender waits for 100 (Continue) before it sends the body.
    package var expectsContinue: Bool
    /// The Host field, which equals the target's authority in absolute-form.
    ///
    /// Without a Host field (HTTP/1.0), it is the target's authority, if any.
    package var host: Authority?
}

extension RequestHead {
    /// Returns a placeholder for a head that could not be parsed, for writing the error response.
    ///
    /// Only the method and the content type matter, even if the rest of the head is invalid: the response
    /// to HEAD must not have content (RFC 9110 §9.3.2), and a gRPC client needs a gRPC status.
    package static func unreadable(_ bytes: Span<UInt8>) -> RequestHead {
        refused(isHead(bytes) ? .head : .get, .origin("/"), contentType: contentType(in: bytes))
    }

    /// Returns a placeholder for a request line that was parsed elsewhere.
    package static func refused(
        _ method: HTTPMethod,
        path: String,
        contentType: String? = nil
    ) -> RequestHead {
        refused(method, .origin(path), contentType: contentType)
    }

    /// Returns a head of which only the request line and the content type are known, because the rest is
    /// invalid.
    static func refused(
        _ method: HTTPMethod,
        _ target: RequestTarget,
        contentType: String?
    ) -> RequestHead {
        var headers = HTTPHeaders()
        if let contentType { headers.append(.contentType, validated: contentType) }
        return RequestHead(
            method: method,
            target: target,
            version: .http11,
            headers: headers,
            framing: .none,
            keepAlive: false,
            expectsContinue: false,
            host: nil
        )
    }

    /// Returns the value of the first Content-Type line in the bytes of an invalid head.
    package static func contentType(in bytes: Span<UInt8>) -> String? {
        let name: StaticString = "content-type:"
        var start = 0
        while let end = bytes.firstIndex(of: 0x0D, from: start) {
            let value = start + name.utf8CodeUnitCount
            if value < end, bytes.extracting(start..<value).equals(name, in: 0..<(value - start)) {
                return contentType(bytes.extracting(value..<end))
            }
            start = end + 1
            if start < bytes.count, bytes[start] == 0x0A { start += 1 }
        }
        return nil
    }

    /// Returns a Content-Type value as text; `nil` if it is not a field value.
    package static func contentType(_ value: Span<UInt8>) -> String? {
        let value = value.extracting(Grammar.trimmed(value))
        let text = value.string(in: 0..<value.count)
        return Grammar.isFieldValue(text) ? text : nil
    }

    /// Whether a request line begins with HEAD; an empty line may precede it.
    private static func isHead(_ bytes: Span<UInt8>) -> Bool {
        let start = bytes.count > 1 && bytes[0] == 0x0D && bytes[1] == 0x0A ? 2 : 0
        guard bytes.count >= start + 5 else { return false }
        return bytes[start] == UInt8(ascii: "H") && bytes[start + 1] == UInt8(ascii: "E")
            && bytes[start + 2] == UInt8(ascii: "A") && bytes[start + 3] == UInt8(ascii: "D")
            && bytes[start + 4] == 0x20
    }
}

/// The supported versions.
package enum HTTP1Version: Sendable, Equatable {
    case http10, http11

    /// Parses exactly `HTTP/1.0` or `HTTP/1.1`; throws `malformed` if the bytes are not a version.
    init(_ bytes: Span<UInt8>, else malformed: HTTP1Error) throws(HTTP1Error) {
        let name: InlineArray<5, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2F]
        guard bytes.count == 8, bytes[6] == UInt8(ascii: ".") else { throw malformed }
        for index in 0..<5 where bytes[index] != name[index] { throw malformed }
        guard bytes[5] &- 0x30 < 10, bytes[7] &- 0x30 < 10 else { throw malformed }
        guard bytes[5] == UInt8(ascii: "1"), bytes[7] <= UInt8(ascii: "1") else {
            throw .unsupportedVersion
        }
        self = bytes[7] == UInt8(ascii: "1") ? .http11 : .http10
    }
}
