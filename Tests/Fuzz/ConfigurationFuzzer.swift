import NetproxyConfig

/// A configuration is accepted, or refused with errors that have a position.
///
/// It includes itself under any path, and is told that paths with an `x` cannot be read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let text = String(decoding: input.bytes, as: UTF8.self)
    let included = IncludedFiles { path throws(ConfigurationErrors) in
        guard path.contains("x") else { return Array(input.bytes) }
        let error = ConfigurationError(
            file: path,
            position: Position(line: 1, column: 1),
            key: "",
            message: "cannot read the file"
        )
        throw ConfigurationErrors([error])
    }
    let result = ConfigurationLoader.load(
        text: text,
        file: "fuzz.yaml",
        environment: [:],
        included: included
    )
    guard case .failure(let failure) = result else { return 0 }
    Input.check(!failure.errors.isEmpty, "a refusal has a reason")
    for error in failure.errors {
        let line = "\(error)"
        Input.check(!error.file.isEmpty, "an error names its file")
        Input.check(line.contains(":\(error.position.line):"), "an error has a line")
        Input.check(!line.contains("\n"), "an error is one line")
    }
    return 0
}
