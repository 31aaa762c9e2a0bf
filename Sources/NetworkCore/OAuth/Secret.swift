/// A secret text: no description, mirror or interpolation of it shows what it is.
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) {
        self.text = text
    }

    /// The secret itself.
    ///
    /// Whoever calls this answers for where it goes.
    public func reveal() -> String { text }

    /// Whether both are the same, in a time that depends on their lengths only.
    public static func == (left: Secret, right: Secret) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        var difference: UInt8 = 0
        for (first, second) in zip(left.text.utf8, right.text.utf8) { difference |= first ^ second }
        return difference == 0
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the secret.
    public var description: String { "<secret>" }
    /// Never the secret.
    public var debugDescription: String { "<secret>" }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
