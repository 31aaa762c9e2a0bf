package import NetproxyBytes

/// Decodes content of one coding as it arrives, in constant memory (RFC 9110 §8.4.1).
package struct Decompressor: ~Copyable {
    /// A decoding failure.
    package struct Fault: Error {
        package let reason: String
    }

    /// The size of decoded content from which the growth limit applies, in bytes.
    package static let watchedFrom = 16 * 1024 * 1024
    /// The maximum average growth per byte; zeros in gzip grow by a factor of one thousand.
    package static let greatestGrowth = 200
    /// The maximum size of one piece, in bytes.
    private static let largestPiece = Slab.largeCapacity

    /// The limit on the growth of content, which guards the memory of its reader.
    package struct GrowthLimit: Sendable {
        /// The maximum average growth per byte; `nil` for no limit.
        package var factor: Int?
        /// The size of decoded content from which the limit applies, in bytes.
        package var start: Int
        /// The name of the setting, for the fault.
        package var setting: String?

        /// Creates a limit.
        package init(
            factor: Int? = Decompressor.greatestGrowth,
            from start: Int = Decompressor.watchedFrom,
            setting: String? = nil
        ) {
            self.factor = factor
            self.start = start
            self.setting = setting
        }
    }

    /// The limit on the growth of the content.
    package var growth = GrowthLimit()
    /// The name of the coding, for errors.
    private let coding: String
    private let engine: any DecompressionEngine
    private var (taken, given) = (0, 0)
    /// Whether the last step filled its piece.
    ///
    /// More output can follow without more input.
    private var isFull = false

    /// Creates a decoder for one content of a coding.
    package init(_ coding: String, _ engine: any DecompressionEngine) {
        self.coding = coding
        self.engine = engine
    }

    /// Creates a decoder of gzip (RFC 1952), or of deflate (RFC 1950, or bare RFC 1951, which many
    /// servers send instead); `nil` for another coding.
    ///
    /// `x-gzip` is equivalent to `gzip` (RFC 9110 §8.4.1.3), and codings are case-insensitive.
    package init?(inflating coding: Substring) {
        switch coding.lowercased() {
        case "gzip", "x-gzip": self.init("gzip", ZlibEngine(.gzip))
        case "deflate": self.init("deflate", ZlibEngine(.deflate))
        default: return nil
        }
    }

    /// Returns the next piece, never empty, and removes consumed bytes from `input`; `nil` if more input is
    /// needed.
    package mutating func next(from input: inout ByteSlice) throws(Fault) -> ByteSlice? {
        while !input.isEmpty || isFull {
            // Small input gets a small piece, because a reader can keep the piece for any time.
            let capacity = min(max(4 * input.count, 1024), Self.largestPiece)
            var count = 0
            let piece = try unsafe ByteSlice(upTo: capacity) { (output, capacity) throws(Fault) in
                do throws(EngineFault) {
                    let step = try unsafe engine.step(
                        input.unsafeAddress.assumingMemoryBound(to: UInt8.self),
                        input.count,
                        output,
                        capacity
                    )
                    count = step.taken
                    return step.given
                } catch {
                    throw Fault(reason: "the \(coding) content is malformed: \(error.reason)")
                }
            }
            isFull = piece.count == capacity
            input = input.dropFirst(count)
            (taken, given) = (taken + count, given + piece.count)
            if let factor = growth.factor, given > growth.start, given / max(factor, 1) > taken {
                let setting = growth.setting.map { " (\($0))" } ?? ""
                throw Fault(
                    reason: "the \(coding) content grows to more than \(factor) times its size"
                        + setting
                )
            }
            if !piece.isEmpty { return piece }
            // Without progress, the remaining input waits for more.
            if count == 0 { return nil }
        }
        return nil
    }

    /// Checks that the content may end here.
    package func finish() throws(Fault) {
        guard engine.isComplete || taken == 0 else {
            throw Fault(reason: "the \(coding) content ends too early")
        }
    }
}
