import ProxyConfig

/// A configuration is accepted, or refused with errors that have a position; the loader opens no
/// files.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let text = String(decoding: input.bytes, as: UTF8.self)
    let result = ConfigurationLoader.load(text: text, file: "fuzz.yaml", environment: [:])
    guard case .failure(let failure) = result else { return 0 }
    Input.check(!failure.errors.isEmpty, "a refusal has a reason")
    for error in failure.errors {
        let line = "\(error)"
        Input.check(line.hasPrefix("fuzz.yaml:"), "an error names its file")
        Input.check(!line.contains("\n"), "an error is one line")
    }
    return 0
}
