import CNetproxyBrotli
import CNetproxyZstd
import NetproxyInflation

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
