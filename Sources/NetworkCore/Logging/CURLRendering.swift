import Bytes

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
        let hasContent = body.length != 0
        // For curl, content makes a POST of a GET.
        if method == .head, !hasContent {
            words.append("--head")
        } else if method != .get || hasContent {
            words += ["-X", method.rawValue]
        }
        // Brackets and braces are a pattern of several URLs for curl.
        if target.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        for field in headers {
            let value = redaction.value(of: field)
            // For curl, a name with a colon and nothing behind it takes a field out.
            words += ["-H", quoted(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")]
        }
        switch body {
        case .empty, .tunnel: break
        case .bytes(let bytes):
            if shown == .shown, let text = Request.text(bytes) {
                words += ["--data-raw", quoted(text)]
            } else {
                words += ["--data-binary", "@-"]
            }
        case .stream: words += ["--data-binary", "@-"]
        }
        words.append(quoted("\(origin)\(redaction.target(target))"))
        return words.joined(separator: " ")
    }

    /// Content as a shell can hold it: in UTF-8, and without NUL.
    private static func text(_ bytes: ByteSlice) -> String? {
        guard let text = String(validating: bytes.array, as: UTF8.self), !text.utf8.contains(0)
        else { return nil }
        return text
    }

    private func quoted(_ text: String) -> String {
        "'\(PercentEncoding.replacing(text) { $0 == UInt8(ascii: "'") ? "'\\''" : nil })'"
    }
}
