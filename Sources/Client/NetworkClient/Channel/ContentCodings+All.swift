import NetproxyDecompression
import NetproxyInflation

extension ContentCodings {
    /// Returns the codings gzip, deflate, br and zstd.
    static func all(within limits: DecompressionLimits) -> ContentCodings {
        let growth = Decompressor.GrowthLimit(
            factor: limits.growth,
            from: limits.start,
            setting: "decompression.growth"
        )
        return ContentCodings(accepted: "gzip, deflate, br, zstd") { body, name in
            let name = name.lowercased()
            // `x-gzip` is equivalent to `gzip` (RFC 9110 §8.4.1.3).
            let known = name == "x-gzip" ? "gzip" : name
            guard let coding = Decompressor.Coding(rawValue: known) else { return nil }
            var decompressor = Decompressor(coding)
            decompressor.growth = growth
            return body.decoded(by: decompressor)
        }
    }
}
