import NetproxyAWSSigning
import NetworkCore
import Testing

/// The way to sign content, by the client's `X-Amz-Content-Sha256`.
@Suite struct PayloadRuleTests {
    private static let digest = String(repeating: "0123456789abcdef", count: 4)
    private static let trailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    @Test(arguments: [
        ([], PayloadRule.unsigned, PayloadRule.hashed),
        (["UNSIGNED-PAYLOAD"], .unsigned, .hashed),
        (["nonsense"], .unsigned, .hashed),
        ([digest.uppercased()], .unsigned, .hashed),
        ([digest, digest], .unsigned, .hashed),
        ([digest], .stated(digest), .stated(digest)),
        ([trailer], .stated(trailer), .stated(trailer)),
        (
            ["STREAMING-AWS4-HMAC-SHA256-PAYLOAD"],
            .chunkSigned("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
            .chunkSigned("STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
        ),
        (
            ["STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"],
            .chunkSigned("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"),
            .chunkSigned("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER")
        ),
    ])
    func `content may be unsigned over TLS for S3 alone`(
        values: [String],
        s3OverTLS: PayloadRule,
        elsewhere: PayloadRule
    ) {
        let s3 = SigningScope(region: "us-east-1", service: "s3")
        let other = SigningScope(region: "us-east-1", service: "dynamodb")
        #expect(PayloadRule(values, for: s3, over: .https) == s3OverTLS)
        #expect(PayloadRule(values, for: s3, over: .http) == elsewhere)
        #expect(PayloadRule(values, for: other, over: .https) == elsewhere)
    }
}
