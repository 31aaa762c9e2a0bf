import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTP2
import NetproxyHTTPMessage

/// What an app sends on a connection in HTTP/2 means the same however it is split, ends within bounds, and no
/// request is taken that HTTP/1 would not take.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + input.bytes
    let whole = FuzzedSession.run(.server, bytes, cutAt: [])
    Input.check(
        whole == FuzzedSession.run(.server, bytes, cutAt: [24 + input.cut]),
        "one meaning when cut once"
    )
    if count < 200 {
        Input.check(
            whole == FuzzedSession.run(.server, bytes, cutAt: Array(0..<bytes.count)),
            "one meaning byte by byte"
        )
    }
    return 0
}
