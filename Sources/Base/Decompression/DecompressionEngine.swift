import CNetproxyBrotli
import CNetproxyZlib
import CNetproxyZstd

/// A decoder of one content, implemented by a library.
protocol DecompressionEngine: AnyObject {
    /// Whether everything that began is complete.
    var isComplete: Bool { get }

    /// Consumes part of the input and produces part of the output. Bytes after the content are consumed and
    /// dropped.
    func step(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int)
}

/// An error of the library for content that it cannot read.
struct EngineFault: Error {
    let reason: String
}

/// Decodes gzip and deflate with zlib.
// SAFETY: the stream is allocated in `init`, freed once in `deinit` and not exposed. zlib keeps its address,
// and uses the pointers of a step only during that step.
@safe final class ZlibEngine: DecompressionEngine {
    enum Format {
        case gzip
        case deflate
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private let format: Format
    /// The first bytes of `deflate`, until they show whether the content has the header of RFC 1950.
    private var head: [UInt8] = []
    private var hasBegun = false
    private(set) var isComplete = false

    init(_ format: Format) {
        self.format = format
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
    }

    deinit {
        if hasBegun { unsafe inflateEnd(stream) }
        unsafe stream.deallocate()
    }

    func step(
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

/// Decodes br with brotli.
// SAFETY: the library owns the state, which is freed once in `deinit` and not exposed. The pointers of a step
// are used only during that step.
@safe final class BrotliEngine: DecompressionEngine {
    private let state: OpaquePointer
    private(set) var isComplete = false

    init() {
        guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else {
            fatalError("out of memory")
        }
        unsafe self.state = state
    }

    deinit {
        unsafe BrotliDecoderDestroyInstance(state)
    }

    func step(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int) {
        if isComplete { return (count, 0) }
        var (rest, room) = (count, capacity)
        var (next, place): (UnsafePointer<UInt8>?, UnsafeMutablePointer<UInt8>?) =
            unsafe (input, output)
        let result = unsafe BrotliDecoderDecompressStream(
            state,
            &rest,
            &next,
            &room,
            &place,
            nil
        )
        if result == BROTLI_DECODER_RESULT_ERROR {
            let code = unsafe BrotliDecoderGetErrorCode(state)
            let name = unsafe BrotliDecoderErrorString(code).map { unsafe String(cString: $0) }
            throw EngineFault(reason: name ?? "unknown")
        }
        isComplete = result == BROTLI_DECODER_RESULT_SUCCESS
        return (count - rest, capacity - room)
    }
}

/// Decodes zstd with libzstd.
// SAFETY: as in `BrotliEngine`.
@safe final class ZstdEngine: DecompressionEngine {
    /// 2^23 bytes, which is 8 MiB (RFC 9659).
    private static let largestWindow: Int32 = 23

    private let state: OpaquePointer
    /// The last return value of the library: 0 at the end of a frame.
    private var hint = 0
    var isComplete: Bool { hint == 0 }

    init() {
        guard let state = unsafe ZSTD_createDStream() else { fatalError("out of memory") }
        unsafe self.state = state
        unsafe ZSTD_DCtx_setParameter(state, ZSTD_d_windowLogMax, Self.largestWindow)
    }

    deinit {
        unsafe ZSTD_freeDStream(state)
    }

    func step(
        _ input: UnsafePointer<UInt8>,
        _ count: Int,
        _ output: UnsafeMutablePointer<UInt8>,
        _ capacity: Int
    ) throws(EngineFault) -> (taken: Int, given: Int) {
        var (source, target) = unsafe (
            ZSTD_inBuffer(src: input, size: count, pos: 0),
            ZSTD_outBuffer(dst: output, size: capacity, pos: 0)
        )
        hint = unsafe ZSTD_decompressStream(state, &target, &source)
        guard ZSTD_isError(hint) == 0 else {
            throw EngineFault(reason: unsafe String(cString: ZSTD_getErrorName(hint)))
        }
        return unsafe (source.pos, target.pos)
    }
}
