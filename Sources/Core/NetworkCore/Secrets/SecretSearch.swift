import FoundationEssentials
import NetproxyBytes

/// Finds secrets in a text or in content, in any form in which an API may repeat them.
///
/// It recognizes the unchanged secret, partial and nested percent-encoding in either case, escapes of JSON and
/// HTML, and base64, also after other bytes.
package final class SecretSearch: Sendable {
    /// The minimum length of a secret in a shown text, in bytes; a shorter one would match too much text.
    package static let shortestShown = 4
    /// The minimum length of a secret that is removed from responses, in bytes.
    package static let shortestRemoved = 8

    /// The length of the shortest form, in bytes; `Int.max` without secrets.
    package let shortest: Int
    private let forms: [SecretForm]
    /// Whether each byte can begin an occurrence.
    private let starts: [Bool]

    /// Creates the search for some secrets; shorter ones than `shortest` bytes are ignored.
    package init(_ secrets: some Sequence<Secret>, ofAtLeast shortest: Int) {
        let values = secrets.map { Array($0.reveal().utf8) }.filter { $0.count >= shortest }
        var forms: [SecretForm] = []
        // The unchanged forms come first, because base64 also consumes the adjacent characters.
        for value in values where !forms.contains(where: { $0.bytes == value }) {
            forms.append(SecretForm(value))
        }
        forms += forms.flatMap(\.base64)
        var starts = [Bool](repeating: false, count: 256)
        for form in forms { form.markStarts(in: &starts) }
        self.forms = forms
        self.starts = starts
        self.shortest = forms.map(\.bytes.count).min() ?? .max
    }

    /// An occurrence of a secret.
    struct Occurrence {
        let range: Range<Int>
        let isBase64: Bool
    }

    /// The first occurrence in some bytes, or the end of the bytes that contain none.
    enum Result {
        case found(Occurrence)
        /// An occurrence may begin at the position; the bytes end before it does.
        case open(Int)
        case nothing
    }

    /// Finds the first occurrence at or after a position.
    func first(in source: Span<UInt8>, from start: Int) -> Result {
        var position = start
        while position < source.count {
            if starts[Int(source[position])] {
                switch match(in: source, at: position) {
                case .nothing: break
                case let result: return result
                }
            }
            position += 1
        }
        return .nothing
    }

    private func match(in source: Span<UInt8>, at position: Int) -> Result {
        var isOpen = false
        for form in forms {
            switch form.end(in: source, from: position) {
            case .mismatch: break
            case .cut: isOpen = true
            case .end(let end):
                return .found(Occurrence(range: position..<end, isBase64: form.isBase64))
            }
        }
        return isOpen ? .open(position) : .nothing
    }

    /// Whether some complete bytes contain a secret.
    package func isFound(in source: Span<UInt8>) -> Bool {
        guard source.count >= shortest else { return false }
        var start = 0
        while true {
            switch first(in: source, from: start) {
            case .found: return true
            case .open(let position): start = position + 1
            case .nothing: return false
            }
        }
    }

    /// Returns a text without the secrets, including their encoded forms.
    static func hiding(_ secrets: [Secret], in text: String, by mark: String) -> String {
        SecretSearch(secrets, ofAtLeast: shortestShown).hiding(in: text, by: mark)
    }

    /// Returns the text with a mark instead of each secret.
    package func hiding(in text: String, by mark: String = Redaction.mark) -> String {
        guard text.utf8.count >= shortest else { return text }
        let source = Array(text.utf8)
        var shown: [UInt8] = []
        var (position, start) = (0, 0)
        while position < source.count {
            switch first(in: source.span, from: start) {
            case .found(let occurrence):
                shown += source[position..<occurrence.range.lowerBound]
                position = occurrence.range.upperBound
                // The adjacent base64 characters contain bits of the secret, so remove them as well.
                if occurrence.isBase64 {
                    while let last = shown.last, SecretForm.isBase64(last) { shown.removeLast() }
                    while position < source.count, SecretForm.isBase64(source[position]) {
                        position += 1
                    }
                }
                shown += mark.utf8
                start = position
            case .open(let end): start = end + 1
            case .nothing:
                shown += source[position...]
                position = source.count
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
