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
    let http2 = Key("http2", .off(or: .map(HTTP2Keys.self)), default: [:])
}

struct HTTP2Keys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ streams: 128 }"

    let streams = Key("streams", .integer(1...10_000), default: 128)
}

extension ProxyConfiguration.Limits {
    init(_ limits: Section<LimitsKeys>) {
        self.init(
            headerSize: limits[\.headerSize],
            headerCount: limits[\.headerCount],
            targetSize: limits[\.targetSize],
            connections: limits[\.connections],
            headTimeout: limits[\.headTimeout],
            http2: limits[\.http2].map { HTTP2(streams: $0[\.streams]) }
        )
        // The target is part of the header, so a larger limit would have no effect.
        if limits.targetSize.isWritten, targetSize > headerSize {
            limits.targetSize.report("must not be larger than header_size, which is \(headerSize)")
        }
    }
}
