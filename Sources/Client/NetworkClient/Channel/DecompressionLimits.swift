/// The limits on decompressed content, which guard the memory and the disk of its reader.
///
/// A few kilobytes can decompress to gigabytes. Text and JSON with many repetitions can exceed the default, too:
///
///     channel.decompression.growth = 1000
public struct DecompressionLimits: Sendable, Hashable {
    /// The maximum average growth; `nil` for no limit.
    ///
    /// Content that grows to more times its size throws `http_response_content_coding`. Default 200.
    public var growth: Int?
    /// The size of decompressed content from which `growth` applies, in bytes.
    ///
    /// Default 16 MiB.
    public var start: Int

    /// Creates limits.
    public init(growth: Int? = 200, from start: Int = 16 * 1024 * 1024) {
        self.growth = growth
        self.start = start
    }
}
