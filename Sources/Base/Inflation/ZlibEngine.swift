import CNetproxyZlib

/// Decodes gzip and deflate with zlib.
// SAFETY: the stream is allocated in `init`, freed once in `deinit` and not exposed. zlib keeps its address,
// and uses the pointers of a step only during that step.
@safe package final class ZlibEngine: DecompressionEngine {
    package enum Format {
        case gzip
        case deflate
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private let format: Format
    /// The first bytes of `deflate`, until they show whether the content has the header of RFC 1950.
    private var head: [UInt8] = []
    private var hasBegun = false
    package private(set) var isComplete = false

    package init(_ format: Format) {
        self.format = format
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
    }

    deinit {
        if hasBegun { unsafe inflateEnd(stream) }
        unsafe stream.deallocate()
    }

    package func step(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int) {
        if isComplete {
            guard count > 0 else { return (0, 0) }
            // Another member follows, or other bytes, which readers ignore.
            guard format == .gzip, unsafe input[0] == 0x1F else { return (count, 0) }
            unsafe inflateReset(stream)
            isComplete = false
        }
        if !hasBegun {
            guard format == .deflate else {
                try begin(windowBits: 15 + 16)
                return try unsafe inflate(input, count, output, capacity)
            }
            guard count > 0 else { return (0, 0) }
            head.append(unsafe input[0])
            guard head.count == 2 else { return (1, 0) }
            // RFC 1950 §2.2: the method is 8, and the two bytes as a number are a multiple of 31.
            let isWrapped = head[0] & 15 == 8 && (Int(head[0]) << 8 | Int(head[1])) % 31 == 0
            try begin(windowBits: isWrapped ? 15 : -15)
            let head = head
            var given = 0
            try unsafe head.withUnsafeBufferPointer { (bytes) throws(EngineFault) in
                if let base = bytes.baseAddress {
                    given = try unsafe inflate(base, bytes.count, output, capacity).given
                }
            }
            return (1, given)
        }
        return try unsafe inflate(input, count, output, capacity)
    }

    private func begin(windowBits: Int32) throws(EngineFault) {
        guard unsafe inflate_begin(stream, windowBits) == Z_OK else {
            throw EngineFault(reason: "out of memory")
        }
        hasBegun = true
    }

    private func inflate(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int) {
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input)
        unsafe stream.pointee.avail_in = UInt32(count)
        unsafe stream.pointee.next_out = output
        unsafe stream.pointee.avail_out = UInt32(capacity)
        let result = unsafe CNetproxyZlib.inflate(stream, Z_NO_FLUSH)
        switch result {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isComplete = true
        default:
            let message = unsafe stream.pointee.msg.map { unsafe String(cString: $0) }
            throw EngineFault(reason: message ?? "zlib reports \(result)")
        }
        let rest = unsafe Int(stream.pointee.avail_in)
        let room = unsafe Int(stream.pointee.avail_out)
        return (count - rest, capacity - room)
    }
}
