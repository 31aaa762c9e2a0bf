import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// A response head is decoded the same however its bytes are split, and keeps its meaning when it is
/// written again; the first byte selects the request method.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let method: HTTPMethod = input.bytes.last == 0x48 ? .head : .get
    let whole = outcome(input.bytes, cutAt: [], method)
    Input.check(
        whole == outcome(input.bytes, cutAt: [input.cut], method),
        "one verdict when cut once"
    )
    if count < 200 {
        Input.check(
            whole == outcome(input.bytes, cutAt: Array(0..<count), method),
            "one verdict byte by byte"
        )
    }
    if case .decoded(let head, _) = whole { checkAgain(head.head, method) }
    return 0
}

private enum Outcome: Equatable {
    case decoded(Head, Int)
    case refused(HTTP1Error)
    case incomplete
}

private struct Head: Equatable {
    let head: ResponseHead

    static func == (left: Head, right: Head) -> Bool {
        left.head.status == right.head.status && left.head.version == right.head.version
            && left.head.headers == right.head.headers && left.head.framing == right.head.framing
            && left.head.keepAlive == right.head.keepAlive
            && left.head.announcedLength == right.head.announcedLength
    }
}

private func outcome(_ bytes: [UInt8], cutAt cuts: [Int], _ method: HTTPMethod) -> Outcome {
    var decoder = ResponseHeadDecoder()
    do throws(HTTP1Error) {
        for end in cuts + [bytes.count] {
            let decoded = try decoder.decode(
                bytes.span.extracting(0..<end),
                answering: method
            )
            if let (head, consumed) = decoded { return .decoded(Head(head: head), consumed) }
        }
        return .incomplete
    } catch {
        return .refused(error)
    }
}

private func checkAgain(_ head: ResponseHead, _ method: HTTPMethod) {
    let output = OutputBuffer()
    if head.status.kind == .informational {
        Input.check(head.framing == .none, "an interim response has no content")
        HeadEncoder.encodeInformational(status: head.status, headers: head.headers, into: output)
    } else {
        HeadEncoder.encodeResponse(
            status: head.status,
            headers: head.headers,
            framing: head.framing,
            announcedLength: head.announcedLength,
            connection: head.keepAlive ? .persistent : .close,
            into: output
        )
    }
    var limits = HTTP1Limits()
    // The encoder adds fields.
    (limits.sectionSize, limits.fieldCount) = (32 << 10, 110)
    var decoder = ResponseHeadDecoder(limits: limits)
    guard let again = try? decoder.decode(output.span, answering: method) else {
        return Input.check(false, "what is accepted can be written and read again")
    }
    Input.check(again.consumed == output.count, "all of it is the head")
    Input.check(again.head.status == head.status, "the same status")
    Input.check(again.head.framing == head.framing, "the same framing")
    Input.check(again.head.announcedLength == head.announcedLength, "the same announced length")
    Input.check(rest(again.head.headers) == rest(head.headers), "the same fields")
}

/// The fields except those that the encoder adds.
private func rest(_ headers: HTTPHeaders) -> HTTPHeaders {
    var headers = headers
    headers.remove(
        KnownFieldSet(
            .connection,
            .te,
            .upgrade,
            .keepAlive,
            .proxyConnection,
            .contentLength,
            .transferEncoding
        )
    )
    return headers
}
