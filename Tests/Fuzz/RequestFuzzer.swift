import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// A request head is decoded the same however its bytes are split, and keeps its meaning when it is
/// written again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let whole = outcome(input.bytes, cutAt: [])
    Input.check(whole == outcome(input.bytes, cutAt: [input.cut]), "one verdict when cut once")
    if count < 200 {
        Input.check(
            whole == outcome(input.bytes, cutAt: Array(0..<count)),
            "one verdict byte by byte"
        )
    }
    if case .decoded(let head, _) = whole { checkAgain(head) }
    return 0
}

private enum Outcome: Equatable {
    case decoded(Head, Int)
    case refused(HTTP1Error)
    case incomplete
}

private struct Head: Equatable {
    let head: RequestHead

    static func == (left: Head, right: Head) -> Bool {
        left.head.method == right.head.method && left.head.target == right.head.target
            && left.head.version == right.head.version && left.head.headers == right.head.headers
            && left.head.framing == right.head.framing
            && left.head.keepAlive == right.head.keepAlive
            && left.head.expectsContinue == right.head.expectsContinue
            && left.head.host == right.head.host
    }
}

private func outcome(_ bytes: [UInt8], cutAt cuts: [Int]) -> Outcome {
    var decoder = RequestHeadDecoder()
    do throws(HTTP1Error) {
        for end in cuts + [bytes.count] {
            if let (head, consumed) = try decoder.decode(bytes.span.extracting(0..<end)) {
                return .decoded(Head(head: head), consumed)
            }
        }
        return .incomplete
    } catch {
        return .refused(error)
    }
}

private func checkAgain(_ first: Head) {
    let head = first.head
    var headers = head.headers
    // Like the daemon, which forwards an expectation only with a body that waits for it.
    if !head.expectsContinue { headers.remove(HTTPFieldName.expect) }
    let output = OutputBuffer()
    HeadEncoder.encodeRequest(
        method: head.method,
        target: "\(head.target)",
        host: head.host.map { "\($0)" } ?? "a",
        headers: headers,
        framing: head.framing,
        connection: head.keepAlive ? .persistent : .close,
        into: output
    )
    var limits = HTTP1Limits()
    // The encoder adds fields.
    (limits.sectionSize, limits.targetSize, limits.fieldCount) = (32 << 10, 16 << 10, 110)
    var decoder = RequestHeadDecoder(limits: limits)
    guard let again = try? decoder.decode(output.span) else {
        return Input.check(false, "what is accepted can be written and read again")
    }
    Input.check(again.consumed == output.count, "all of it is the head")
    Input.check(again.head.method == head.method, "the same method")
    Input.check(again.head.target == head.target, "the same target")
    Input.check(again.head.host == (head.host ?? Authority("a")), "the same host")
    Input.check(again.head.keepAlive == head.keepAlive, "the same persistence")
    let framing: BodyFraming =
        head.framing == .none && ["POST", "PUT", "PATCH"].contains(head.method.rawValue)
        ? .length(0) : head.framing
    Input.check(again.head.framing == framing, "the same framing")
    Input.check(rest(again.head.headers) == rest(headers), "the same fields")
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
            .host,
            .contentLength,
            .transferEncoding
        )
    )
    return headers
}
