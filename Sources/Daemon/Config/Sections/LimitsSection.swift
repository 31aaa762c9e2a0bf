struct LimitsKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ connections: 4096 }"

    let connections = Key("connections", .integer(1...1_000_000), default: 4096)
    let headerSize = Key(
        "header_size",
        .size(in: .kibibytes(1) ... .mebibytes(1)),
        default: "16KiB"
    )
    let headerCount = Key("header_count", .integer(1...10_000), default: 100)
    let targetSize = Key(
        "target_size",
        .size(in: .kibibytes(1) ... .mebibytes(1)),
        default: "8KiB"
    )
    let headTimeout = Key("head_timeout", .duration, default: "10s")
    let bodyRate = Key(
        "body_rate",
        .off(or: .size(in: ByteCount(1) ... .mebibytes(1))),
        default: "240B"
    )
    let http2 = Key("http2", .off(or: .map(HTTP2Keys.self)), default: [:])
}

struct HTTP2Keys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ streams: 128 }"

    let streams = Key("streams", .integer(1...10_000), default: 128)
    let window = Key("window", .size(in: .kibibytes(1) ... .mebibytes(4)), default: "256KiB")
    let continuations = Key("continuations", .integer(0...1000), default: 8)
    let idleFrames = Key("idle_frames", .integer(10...1_000_000), default: 1000)
}

extension ProxyConfiguration.Limits {
    init(_ limits: Section<LimitsKeys>) {
        self.init(
            headerSize: limits[\.headerSize],
            headerCount: limits[\.headerCount],
            targetSize: limits[\.targetSize],
            connections: limits[\.connections],
            headTimeout: limits[\.headTimeout],
            bodyRate: limits[\.bodyRate],
            http2: limits[\.http2].map { http2 in
                HTTP2(
                    streams: http2[\.streams],
                    window: http2[\.window],
                    continuations: http2[\.continuations],
                    idleFrames: http2[\.idleFrames]
                )
            }
        )
        // The target is part of the header, so a larger limit would have no effect.
        if limits.targetSize.isWritten, targetSize > headerSize {
            limits.targetSize.report("must not be larger than header_size, which is \(headerSize)")
        }
    }
}
