/// The position from which an interrupted download can resume, in this process or a later one.
public struct ResumePoint: Sendable, Hashable, Codable {
    /// The path of the file with the received part.
    public let partialPath: String
    /// The number of valid bytes in that file.
    public let received: Int
    /// The strong entity tag or the date that identifies the representation, for `If-Range` (RFC 9110
    /// §13.1.5).
    public let validator: String

    /// Creates a resume point.
    public init(partialPath: String, received: Int, validator: String) {
        self.partialPath = partialPath
        self.received = received
        self.validator = validator
    }
}
