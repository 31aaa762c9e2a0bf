/// Where an interrupted download can go on, in this process or a later one.
public struct ResumePoint: Sendable, Hashable, Codable {
    /// The file that holds what came so far.
    public let partialPath: String
    /// How many bytes of it are good.
    public let received: Int
    /// What proves that the rest is of the same representation: a strong entity tag or a date, sent
    /// as `If-Range` (RFC 9110 §13.1.5).
    public let validator: String

    /// Describes an interrupted download.
    public init(partialPath: String, received: Int, validator: String) {
        self.partialPath = partialPath
        self.received = received
        self.validator = validator
    }
}
