import NetproxyBytes
import NetproxyHTTPMessage

/// The lines of an HTTP/1 head, converted to an HTTP/2 field block.
///
/// So the HTTP/1 encoder determines the content of a head for both versions.
enum FieldLines {
    /// The kind of a text.
    enum Kind {
        /// A request for an origin of this scheme.
        case request(StaticString)
        case response, trailers
    }

    /// Writes a text as a field block, with names in lowercase.
    static func encode(
        _ text: OutputBuffer,
        _ kind: Kind,
        with encoder: inout FieldEncoder,
        into output: OutputBuffer
    ) {
        encoder.begin(output)
        switch kind {
        case .request(let scheme): encodeRequest(text, scheme, &encoder, output)
        case .response:
            append(":status", text.span.extracting(9..<12), &encoder, output)
            addFields(text, from: line(of: text, from: 0).upperBound + 2, &encoder, output)
        case .trailers: addFields(text, from: 0, &encoder, output)
        }
    }

    private static func encodeRequest(
        _ text: OutputBuffer,
        _ scheme: StaticString,
        _ encoder: inout FieldEncoder,
        _ output: OutputBuffer
    ) {
        let first = line(of: text, from: 0)
        let methodEnd = text.span.firstIndex(of: 0x20, from: first.lowerBound) ?? first.upperBound
        let targetEnd = text.span.firstIndex(of: 0x20, from: methodEnd + 1) ?? first.upperBound
        let method = text.span.extracting(first.lowerBound..<methodEnd)
        let isConnect = method.isExactly("CONNECT")
        // The encoder writes Host first.
        let host = line(of: text, from: first.upperBound + 2)
        let authority = min(host.lowerBound + 6, host.upperBound)..<host.upperBound
        append(":method", method, &encoder, output)
        if !isConnect { append(":scheme", scheme, &encoder, output) }
        append(":authority", text.span.extracting(authority), &encoder, output)
        if !isConnect {
            append(":path", text.span.extracting((methodEnd + 1)..<targetEnd), &encoder, output)
        }
        addFields(text, from: host.upperBound + 2, &encoder, output)
    }

    private static func append(
        _ name: StaticString,
        _ value: Span<UInt8>,
        _ encoder: inout FieldEncoder,
        _ output: OutputBuffer
    ) {
        encoder.append(Span(of: name), value, to: output)
    }

    private static func append(
        _ name: StaticString,
        _ value: StaticString,
        _ encoder: inout FieldEncoder,
        _ output: OutputBuffer
    ) {
        encoder.append(Span(of: name), Span(of: value), to: output)
    }

    private static func line(of text: OutputBuffer, from start: Int) -> Range<Int> {
        start..<(text.span.firstIndex(of: 0x0D, from: start) ?? text.count)
    }

    private static func addFields(
        _ text: OutputBuffer,
        from start: Int,
        _ encoder: inout FieldEncoder,
        _ output: OutputBuffer
    ) {
        var start = start
        while start < text.count {
            let line = line(of: text, from: start)
            start = line.upperBound + 2
            guard !line.isEmpty,
                let colon = text.span.firstIndex(of: UInt8(ascii: ":"), from: line.lowerBound),
                colon < line.upperBound
            else { continue }
            let name = line.lowerBound..<colon
            var value = (colon + 1)..<line.upperBound
            while !value.isEmpty, Grammar.isWhitespace(text.span[value.lowerBound]) {
                value = (value.lowerBound + 1)..<value.upperBound
            }
            guard !isOfConnection(text.span, name) else { continue }
            text.lowercase(name)
            encoder.append(text.span.extracting(name), text.span.extracting(value), to: output)
        }
    }

    /// Whether a field belongs to an HTTP/1 connection.
    private static func isOfConnection(_ head: Span<UInt8>, _ name: Range<Int>) -> Bool {
        switch name.count {
        case 4: head.equals("host", in: name)
        case 7: head.equals("upgrade", in: name)
        case 10: head.equals("connection", in: name) || head.equals("keep-alive", in: name)
        case 16: head.equals("proxy-connection", in: name)
        case 17: head.equals("transfer-encoding", in: name)
        default: false
        }
    }
}
