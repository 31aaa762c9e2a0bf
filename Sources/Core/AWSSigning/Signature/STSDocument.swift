/// A response of the Security Token Service, or an error of another service in the same XML.
struct STSDocument {
    private let text: String

    /// Takes the content of a response; `nil` if it is not UTF-8, or declares entities.
    init?(_ content: [UInt8]) {
        guard let text = String(validating: content, as: UTF8.self), !text.contains("<!") else {
            return nil
        }
        self.text = text
    }

    /// The text of the only element with this name; `nil` without one, or if it contains another.
    func text(of name: String) -> String? {
        let parts = text.split(separator: "<\(name)>", omittingEmptySubsequences: false)
        guard parts.count == 2, let end = parts[1].firstRange(of: "</\(name)>") else { return nil }
        let inner = parts[1][..<end.lowerBound]
        guard !inner.contains("<") else { return nil }
        return STSDocument.decoded(inner.trimmingPrefix(while: \.isWhitespace))
    }

    /// A text with the five entities of XML, and no others, in their place.
    private static func decoded(_ text: Substring) -> String {
        var result = String(text)
        while result.last?.isWhitespace == true { result.removeLast() }
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
        ] {
            result = result.replacing(entity, with: character)
        }
        return result
    }
}
