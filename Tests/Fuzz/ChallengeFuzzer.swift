// NetworkCore re-exports it for its own files, including the parser.
@_exported import NetproxyHTTPMessage

/// A `WWW-Authenticate` line keeps its meaning when its challenges are written and parsed again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Input(start, count)
    let line = String(decoding: input.bytes, as: UTF8.self)
    guard let challenges = ChallengeParser.parse(line) else { return 0 }
    let again = challenges.map(written).joined(separator: ", ")
    Input.check(ChallengeParser.parse(again) == challenges, "the same challenges")
    return 0
}

private func written(_ challenge: Challenge) -> String {
    if let token68 = challenge.token68 { return "\(challenge.scheme) \(token68)" }
    let parameters = challenge.parameters.map { name, value in
        // Scalar by scalar: a quote with a combining mark is a single character.
        let text = value.unicodeScalars.map {
            "\"\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)"
        }
        .joined()
        return "\(name)=\"\(text)\""
    }
    return challenge.scheme + (parameters.isEmpty ? "" : " " + parameters.joined(separator: ", "))
}
