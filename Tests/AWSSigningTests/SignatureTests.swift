import NetproxyAWSSigning
import NetworkCore
import TestSupport
import Testing

/// Signatures, compared with those of botocore 1.43 for the same requests.
@Suite struct SignatureTests {
    private static let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261127/"

    @Test func `a form for STS is signed with its digest, which is not sent`() async throws {
        var request = Request(
            method: .post,
            origin: Origin(scheme: .https, host: "sts.eu-central-1.amazonaws.com"),
            target: "/",
            body: .bytes(ByteSlice("Action=GetCallerIdentity&Version=2011-06-15"))
        )
        request.headers.append(
            .contentType,
            validated: "application/x-www-form-urlencoded; charset=utf-8"
        )
        let signed = try await Samples.signed(request, for: "sts", in: "eu-central-1")
        #expect(
            signed.headers[.authorization] == Self.start
                + "eu-central-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date, "
                + "Signature=9dc7726af521311a535f22f2c91ec3514794a7d88e5554ed277fac6b3b54eac7"
        )
        #expect(signed.headers["X-Amz-Date"] == "20261127T120000Z")
        #expect(signed.headers["X-Amz-Content-Sha256"] == nil)
    }

    @Test func `a path of S3 is signed as it is, with the session token`() async throws {
        let request = Request(
            origin: Origin(scheme: .http, host: "bucket.s3.amazonaws.com"),
            target: "/a%20b//c/../%C3%A9%2Bd?acl&prefix=x%2Fy"
        )
        let signed = try await Samples.signed(
            request,
            for: "s3",
            token: "session-token-of-the-test"
        )
        #expect(
            signed.headers[.authorization] == Self.start
                + "us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
                + "Signature=8444060e7d31a507f603102c0484943e97cc55df8cc18ef850009364ea355711"
        )
        #expect(signed.target == request.target)
        #expect(signed.headers["X-Amz-Security-Token"] == "session-token-of-the-test")
    }

    @Test func `any other path is normalized and encoded twice for the signature alone`()
        async throws
    {
        var request = Request(
            method: .post,
            origin: Origin(scheme: .https, host: "bedrock-runtime.us-east-1.amazonaws.com"),
            target: "/model/a.b-v2%3A0//x/./../invoke/?b=2&a=%7Bx%7D&a=1",
            body: .stream(PiecedBody(["{", "}"]), length: nil)
        )
        request.headers.append(.contentType, validated: "application/json")
        request.headers.append("X-Amz-Custom", validated: "two   blanks")
        let signed = try await Samples.signed(request, for: "bedrock")
        #expect(
            signed.headers[.authorization] == Self.start
                + "us-east-1/bedrock/aws4_request, "
                + "SignedHeaders=content-type;host;x-amz-custom;x-amz-date, "
                + "Signature=c1ba96925b24403d719ad5bd968a5ddbc435f93e8b4c0054ccf00d1e01290b5c"
        )
        #expect(signed.target == request.target)
        #expect(try await signed.body.collect(upTo: 10).array == Array("{}".utf8))
    }

    @Test func `nothing of the app's own signature is left`() async throws {
        var request = Request(
            origin: Origin(scheme: .https, host: "s3.us-east-1.amazonaws.com"),
            target: "/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=dummy%2F20200101&"
                + "X-Amz-Date=20200101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&"
                + "X-Amz-Security-Token=dummy&versionId=3&X-Amz-Signature=00"
        )
        for (name, value) in [
            ("Authorization", "AWS4-HMAC-SHA256 Credential=dummy"),
            ("Date", "Wed, 01 Jan 2020 00:00:00 GMT"), ("X-Amz-Date", "20200101T000000Z"),
            ("X_Amz_Date", "20200101T000000Z"), ("x-amz-security-token", "dummy"),
        ] {
            try request.headers.append(#require(HTTPFieldName(name)), validated: value)
        }
        let signed = try await Samples.signed(request, for: "s3")
        #expect(signed.target == "/b/k?versionId=3")
        #expect(
            signed.headers.map(\.name.text) == [
                "X-Amz-Date", "X-Amz-Content-Sha256", "Authorization",
            ]
        )
        #expect(signed.headers["X-Amz-Date"] == "20261127T120000Z")
    }

    @Test func `a date that belongs to no signature stays`() async throws {
        var request = Request.forTests()
        request.headers.append(.date, validated: "Wed, 01 Jan 2020 00:00:00 GMT")
        let signed = try await Samples.signed(request, for: "sts")
        #expect(signed.headers[.date] == "Wed, 01 Jan 2020 00:00:00 GMT")
    }

    @Test func `content beyond the limit is refused with the key that sets it`() async throws {
        let body = HTTPBody.stream(PiecedBody(["0123", "4567"]), length: nil)
        let request = Request.forTests(.put, body: body)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await Samples.signed(request, for: "dynamodb", limit: 7)
        }
        #expect(error?.kind == .httpRequestError)
        #expect(error?.ownStatus == 413)
        #expect(error?.detail.contains("longer than the 7 bytes of retry.replay_body") == true)
    }

    @Test func `the error for signed chunks names the remedy`() async throws {
        var request = Request.forTests(.put)
        let scheme = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
        request.headers.append("X-Amz-Content-Sha256", validated: scheme)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await Samples.signed(request, for: "s3")
        }
        #expect(error?.detail.contains(scheme) == true)
        #expect(error?.detail.contains("AWS_REQUEST_CHECKSUM_CALCULATION=when_required") == true)
    }

    @Test func `a digest of the app's is sent and signed, and the content is not read`()
        async throws
    {
        let digest = String(repeating: "0a", count: 32)
        var request = Request.forTests(.put, body: .stream(PiecedBody(["a"]), length: 1))
        request.headers.append("X-Amz-Content-Sha256", validated: digest)
        let signed = try await Samples.signed(request, for: "dynamodb", limit: 0)
        #expect(signed.headers["X-Amz-Content-Sha256"] == digest)
        #expect(signed.body.isStream)
    }
}
