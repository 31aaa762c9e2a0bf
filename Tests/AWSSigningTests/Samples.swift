import NetproxyAWSSigning
import NetworkCore
import TestSupport
import Testing

/// Credentials and times shared by the tests.
enum Samples {
    /// 2026-11-27 12:00:00 UTC.
    static let noon = 1_795_780_800.0

    /// Credentials with a session token, or without.
    static func credentials(
        _ id: String = "AKIDEXAMPLE",
        token: String? = nil
    ) throws -> AWSCredentials {
        try #require(
            AWSCredentials(
                accessKeyID: id,
                secretAccessKey: Secret("secret-of-the-test"),
                sessionToken: token.map(Secret.init)
            )
        )
    }

    /// Signs a request at noon.
    static func signed(
        _ request: Request,
        for service: String,
        in region: String = "us-east-1",
        token: String? = nil,
        limit: Int = 1024
    ) async throws -> Request {
        let signer = AWSRequestSigner(
            try credentials(token: token),
            AWSRequestSigner.Options(
                scope: SigningScope(region: region, service: service),
                contentLimit: limit
            ),
            clock: ServerClock(clock: ManualClock(wall: noon))
        )
        var request = request
        try await signer.sign(&request)
        return request
    }
}
