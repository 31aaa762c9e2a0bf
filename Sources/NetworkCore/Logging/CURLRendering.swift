extension Request {
    /// What a rendering says of the body.
    public enum ShownBody: Sendable, Hashable {
        /// Only that there is one.
        case hidden
        /// All of it, where it is in memory and text.
        case shown
    }

    /// The request as a curl command for a POSIX shell, without credentials.
    ///
    /// - Parameters:
    ///   - redaction: what is left out.
    ///   - shown: whether the body is shown; hidden unless asked for.
    /// - Returns: one line.
    public func curlCommand(
        redacting redaction: Redaction = .standard,
        body shown: ShownBody = .hidden
    ) -> String {
        var words = ["curl"]
        if method == .head {
            words.append("--head")
        } else if method != .get {
            words += ["-X", method.rawValue]
        }
        for field in headers {
            words += ["-H", quoted("\(field.name): \(redaction.value(of: field))")]
        }
        switch body {
        case .empty, .tunnel: break
        case .bytes(let bytes) where shown == .shown:
            words += ["--data-raw", quoted(bytes.span.string(in: 0..<bytes.count))]
        case .bytes, .stream: words += ["--data-binary", "@-"]
        }
        words.append(quoted("\(origin)\(redaction.target(target))"))
        return words.joined(separator: " ")
    }

    private func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}
