import Bytes
import CNghttp2
import HTTPMessage

/// The lines of a head as HTTP/1 writes it, as the fields of HTTP/2: the encoder of HTTP/1 decides what is
/// in a head, for both.
// SAFETY: the pointers are to the output's bytes, and are used before the caller changes it.
@safe struct FieldLines {
    private var fields: [nghttp2_nv] = unsafe []
    /// The texts that no head holds.
    private let extra = OutputBuffer(capacity: 64)

    /// Reads a request's head.
    ///
    /// `submit` gets the fields.
    mutating func request<Result>(
        _ head: OutputBuffer,
        scheme: StaticString,
        _ submit: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        unsafe fields.removeAll(keepingCapacity: true)
        let line = nextLine(head, from: 0)
        let (methodEnd, targetEnd) = FieldLines.parts(of: head.span, line)
        extra.removeAll()
        extra.append(":method:scheme:authority:path")
        let schemeStart = extra.count
        extra.append(scheme)
        let isConnect = head.span.extracting(line.lowerBound..<methodEnd).isExactly("CONNECT")
        add(extra, 0..<7, head, line.lowerBound..<methodEnd)
        if !isConnect { add(extra, 7..<14, extra, schemeStart..<extra.count) }
        // The encoder writes Host first.
        let host = nextLine(head, from: line.upperBound + 2)
        let colon = host.lowerBound + 4
        add(extra, 14..<24, head, min(colon + 2, host.upperBound)..<host.upperBound)
        if !isConnect { add(extra, 24..<29, head, (methodEnd + 1)..<targetEnd) }
        addFields(head, from: host.upperBound + 2)
        return unsafe fields.withUnsafeBufferPointer { unsafe submit($0.baseAddress, $0.count) }
    }

    /// Reads a response's head.
    mutating func response<Result>(
        _ head: OutputBuffer,
        _ submit: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        unsafe fields.removeAll(keepingCapacity: true)
        let line = nextLine(head, from: 0)
        extra.removeAll()
        extra.append(":status")
        add(extra, 0..<7, head, 9..<12)
        addFields(head, from: line.upperBound + 2)
        return unsafe fields.withUnsafeBufferPointer { unsafe submit($0.baseAddress, $0.count) }
    }

    /// Reads trailer fields.
    mutating func trailers<Result>(
        _ section: OutputBuffer,
        _ submit: (UnsafePointer<nghttp2_nv>?, Int) -> Result
    ) -> Result {
        unsafe fields.removeAll(keepingCapacity: true)
        addFields(section, from: 0)
        return unsafe fields.withUnsafeBufferPointer { unsafe submit($0.baseAddress, $0.count) }
    }

    private func nextLine(_ head: OutputBuffer, from start: Int) -> Range<Int> {
        let end = head.span.firstIndex(of: 0x0D, from: start) ?? head.count
        return start..<end
    }

    private static func parts(of head: Span<UInt8>, _ line: Range<Int>) -> (Int, Int) {
        let methodEnd = head.firstIndex(of: 0x20, from: line.lowerBound) ?? line.upperBound
        let targetEnd = head.firstIndex(of: 0x20, from: methodEnd + 1) ?? line.upperBound
        return (methodEnd, targetEnd)
    }

    private mutating func addFields(_ head: OutputBuffer, from start: Int) {
        var start = start
        while start < head.count {
            let line = nextLine(head, from: start)
            start = line.upperBound + 2
            guard !line.isEmpty,
                let colon = head.span.firstIndex(of: UInt8(ascii: ":"), from: line.lowerBound),
                colon < line.upperBound
            else { continue }
            let name = line.lowerBound..<colon
            var value = (colon + 1)..<line.upperBound
            while !value.isEmpty, Grammar.isWhitespace(head.span[value.lowerBound]) {
                value = (value.lowerBound + 1)..<value.upperBound
            }
            guard !FieldLines.isOfConnection(head.span, name) else { continue }
            head.lowercase(name)
            add(head, name, head, value)
        }
    }

    /// Whether a field belongs to a connection of HTTP/1.
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

    private mutating func add(
        _ names: OutputBuffer,
        _ name: Range<Int>,
        _ values: OutputBuffer,
        _ value: Range<Int>
    ) {
        unsafe fields.append(
            nghttp2_nv(
                name: FieldLines.pointer(names, name.lowerBound),
                value: FieldLines.pointer(values, value.lowerBound),
                namelen: name.count,
                valuelen: value.count,
                flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
            )
        )
    }

    private static func pointer(_ buffer: OutputBuffer, _ offset: Int)
        -> UnsafeMutablePointer<UInt8>
    {
        unsafe UnsafeMutablePointer(
            mutating: (buffer.unsafeAddress + offset).assumingMemoryBound(to: UInt8.self)
        )
    }
}
