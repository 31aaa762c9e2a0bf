import NetproxyDecompression
import NetproxyInflation

extension ContentCodings {
    /// The codings gzip, deflate, br and zstd.
    static let all = ContentCodings(accepted: "gzip, deflate, br, zstd") { body, name in
        let name = name.lowercased()
        // `x-gzip` is equivalent to `gzip` (RFC 9110 §8.4.1.3).
        let known = name == "x-gzip" ? "gzip" : name
        guard let coding = Decompressor.Coding(rawValue: known) else { return nil }
        return body.decoded(by: Decompressor(coding))
    }
}
