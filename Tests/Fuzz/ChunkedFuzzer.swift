import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage

/// A chunked body is decoded the same however its bytes are split, and keeps its content when it is
/// written again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let whole = Body(input.bytes, cutAt: [])
    Input.check(whole == Body(input.bytes, cutAt: [input.cut]), "one verdict when cut once")
    if count < 300 {
        Input.check(
            whole == Body(input.bytes, cutAt: Array(0..<count)),
            "one verdict byte by byte"
        )
    }
    guard whole.isComplete else { return 0 }
    let output = OutputBuffer()
    if !whole.content.isEmpty {
        BodyWriter.chunkHeader(count: whole.content.count, into: output)
        output.append(whole.content)
        BodyWriter.chunkEnd(into: output)
    }
    BodyWriter.lastChunk(trailers: whole.trailers, into: output)
    let again = Body(output.span.array, cutAt: [])
    Input.check(again.isComplete && again.consumed == output.count, "it can be read again")
    Input.check(again.content == whole.content, "the same content")
    Input.check(again.trailers == whole.trailers, "the same trailers")
    return 0
}

private struct Body: Equatable {
    var content: [UInt8] = []
    var trailers: HTTPHeaders?
    var consumed = 0
    var isComplete = false
    var error: HTTP1Error?

    init(_ bytes: [UInt8], cutAt cuts: [Int]) {
        var decoder = BodyDecoder(.chunked)
        do throws(HTTP1Error) {
            for end in cuts + [bytes.count] {
                try read(&decoder, bytes, to: end)
                if isComplete { return }
            }
        } catch {
            // The content decoded before the error depends on how the bytes were split.
            self.error = error
            (content, consumed) = ([], 0)
        }
    }

    private mutating func read(
        _ decoder: inout BodyDecoder,
        _ bytes: [UInt8],
        to end: Int
    ) throws(HTTP1Error) {
        while true {
            switch try decoder.next(bytes.span.extracting(consumed..<end)) {
            case .needMore(let count):
                consumed += count
                return
            case .data(let skip, let count):
                content += bytes[(consumed + skip)..<(consumed + skip + count)]
                consumed += skip + count
            case .end(let count):
                consumed += count
                trailers = decoder.trailers
                isComplete = true
                return
            }
        }
    }
}
