package import NetproxyBytes

/// Decodes content of one coding as it arrives, with flat memory (RFC 9110 §8.4.1).
package struct Decompressor: ~Copyable {
    /// A coding that is known.
    package enum Coding: String, CaseIterable {
        /// RFC 1952; several members are one content.
        case gzip
        /// RFC 1950, or RFC 1951 alone, which many servers send in its place.
        case deflate
        /// RFC 7932.
        case br
        /// RFC 8878, with a window of 8 MiB at most (RFC 9659).
        case zstd
    }

    /// Why content cannot be decoded, as a clause.
    package struct Fault: Error {
        package let reason: String
    }

    /// How much is decoded before its growth is watched, in bytes.
    package static let watchedFrom = 16 * 1024 * 1024
    /// How many bytes one byte may become on average; zeros in gzip become a thousand.
    package static let greatestGrowth = 200
    /// The most that a step gives, in bytes.
    private static let largestPiece = Slab.largeCapacity

    private let coding: Coding
    private let engine: any DecompressionEngine
    private var (taken, given) = (0, 0)
    /// Whether the last step filled its piece: there may be more without more input.
    private var isFull = false

    /// Begins a content.
    package init(_ coding: Coding) {
        self.coding = coding
        engine =
            switch coding {
            case .gzip: ZlibEngine(.gzip)
            case .deflate: ZlibEngine(.deflate)
            case .br: BrotliEngine()
            case .zstd: ZstdEngine()
            }
    }

    /// The next piece, never empty, from input that is taken from `input`; `nil` if it takes more input.
    package mutating func next(from input: inout ByteSlice) throws(Fault) -> ByteSlice? {
        while !input.isEmpty || isFull {
            // What is small stays small in memory: a piece is kept as long as its reader likes.
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
            if given > Self.watchedFrom, given / Self.greatestGrowth > taken {
                throw Fault(
                    reason: "the \(coding) content grows to more than "
                        + "\(Self.greatestGrowth) times its size"
                )
            }
            if !piece.isEmpty { return piece }
            // No progress: what is left waits for more.
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
