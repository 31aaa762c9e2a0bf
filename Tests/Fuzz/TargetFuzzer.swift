import NetproxyBytes
import NetproxyHTTPMessage

/// A request target and an authority keep their meaning when they are written and parsed again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    for method in [HTTPMethod.get, .options, .connect] {
        guard let target = RequestTarget(input.bytes.span, for: method) else { continue }
        let text = "\(target)"
        Input.check(!text.isEmpty, "a target has bytes")
        Input.check(
            text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 },
            "a target is visible ASCII without #"
        )
        let again = Array(text.utf8)
        Input.check(RequestTarget(again.span, for: method) == target, "the same target")
        if let path = target.pathAndQuery { checkPath(path) }
    }
    if let authority = Authority(input.bytes.span) {
        Input.check(Authority("\(authority)") == authority, "the same authority")
        let origin = Origin(scheme: .http, host: authority.host, port: authority.port)
        Input.check(Authority(origin.authority)?.host == authority.host, "the same host")
    }
    return 0
}

private func checkPath(_ text: String) {
    let path = TargetPath(text)
    let whole = path.query.map { "\(path.path)?\($0)" } ?? String(path.path)
    Input.check(whole == text, "path and query are the whole")
    guard text.hasPrefix("/") else { return }
    if path.staysUnder("/a") { Input.check(path.staysUnder(), "what is under /a is under /") }
    if !text.contains("."), !text.contains("%") {
        Input.check(path.staysUnder(), "nothing climbs without dots")
    }
}
