/// A value that must not be shown, such as a token, client secret, password or key.
///
/// Nothing prints it: not interpolation, `print`, `dump`, a debugger's summary or a mirror of an enclosing
/// value.
/// It is neither `Codable` nor `Hashable`, so that it cannot become part of a document or a printed
/// dictionary
/// key.
public struct Secret: Sendable {
    private let text: String

    /// Creates a secret.
    public init(_ text: String) {
        self.text = text
    }

    /// Returns the value itself.
    ///
    /// Reviewers should check every use of this name.
    public func reveal() -> String { text }

    /// Whether the value is empty.
    public var isEmpty: Bool { text.isEmpty }
}

extension Secret: Equatable {
    /// Whether two secrets are equal; the time of the comparison depends on their lengths only.
    public static func == (left: Secret, right: Secret) -> Bool {
        let (first, second) = (left.text.utf8, right.text.utf8)
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(first, second) { difference |= one ^ other }
        return difference == 0
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The word `<redacted>`.
    public var description: String { Redaction.mark }
    /// The word `<redacted>`.
    public var debugDescription: String { Redaction.mark }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
