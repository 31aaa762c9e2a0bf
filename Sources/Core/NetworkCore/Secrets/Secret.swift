/// A value that must not be seen: token, client secret, password, key.
///
/// Nothing prints it: not interpolation, `print`, `dump`, a debugger's summary or a mirror of the
/// value it is part of. It is not `Codable` and not `Hashable`, so that it cannot slip into a
/// document or become a dictionary key that is printed.
public struct Secret: Sendable {
    private let text: String

    /// Takes a value into custody.
    public init(_ text: String) {
        self.text = text
    }

    /// The value itself.
    ///
    /// Every use of this name is a place to look at in a review.
    public func reveal() -> String { text }

    /// Whether there is nothing in it.
    public var isEmpty: Bool { text.isEmpty }
}

extension Secret: Equatable {
    /// Whether both are the same, in a time that depends on the lengths only.
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
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
