import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage

/// What an origin sends on a connection in HTTP/2, on which two requests wait, means the same however it is
/// split, and ends within bounds.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let whole = FuzzedSession.run(.client, input.bytes, cutAt: [])
    Input.check(
        whole == FuzzedSession.run(.client, input.bytes, cutAt: [input.cut]),
        "one meaning when cut once"
    )
    if count < 200 {
        Input.check(
            whole == FuzzedSession.run(.client, input.bytes, cutAt: Array(0..<count)),
            "one meaning byte by byte"
        )
    }
    return 0
}
