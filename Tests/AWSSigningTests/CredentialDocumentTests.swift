import NetproxyAWSSigning
import NetworkCore
import OAuth
import Testing

/// The JSON of credentials, and the times of AWS.
@Suite struct CredentialDocumentTests {
    private static let now = UnixTime(secondsSinceEpoch: Samples.noon)

    private func issued(
        _ json: String,
        _ kind: CredentialDocument.Kind
    ) throws(TokenFailure) -> IssuedCredentials {
        try CredentialDocument(Array(json.utf8), of: kind, from: "the source")
            .issued(at: Self.now, by: "the source")
    }

    @Test func `the output of a credential_process is read`() throws {
        let json = """
            {"Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret-of-the-test",
             "SessionToken": "token", "Expiration": "2026-11-27T13:00:00+00:00", "Other": [1]}
            """
        let issued = try issued(json, .process)
        #expect(try issued.credentials == Samples.credentials(token: "token"))
        #expect(issued.lifetime == .seconds(3600))
    }

    @Test func `keys without an end are valid without one`() throws {
        let json =
            #"{"Version":1,"AccessKeyId":"AKIDEXAMPLE","SecretAccessKey":"secret-of-the-test"}"#
        let issued = try issued(json, .process)
        #expect(try issued.credentials == Samples.credentials())
        #expect(issued.lifetime == nil)
    }

    @Test func `the documents of the metadata services are read`() throws {
        let json = """
            {"Code": "Success", "LastUpdated": "2026-11-27T11:00:00Z", "Type": "AWS-HMAC",
             "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "secret-of-the-test",
             "Token": "token", "Expiration": "2026-11-27T18:00:00Z"}
            """
        let issued = try issued(json, .metadata)
        #expect(try issued.credentials == Samples.credentials(token: "token"))
        #expect(issued.lifetime == .seconds(6 * 3600))
    }

    @Test(arguments: [
        ("secret-text", "returned no JSON"),
        (#"{"AccessKeyId":"a","SecretAccessKey":"secret-text"}"#, "\"Version\": 1"),
        (#"{"Version":1,"AccessKeyId":"a"}"#, "without AccessKeyId or SecretAccessKey"),
        (
            #"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"secret-text\n"}"#,
            "no field may hold"
        ),
        (
            #"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"secret-text","Expiration":"soon"}"#,
            "Expiration that is not a time"
        ),
        (
            #"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"secret-text","#
                + #""Expiration":"2026-11-27T11:59:59Z"}"#,
            "have expired"
        ),
    ])
    func `an unusable document is named and not quoted`(json: String, reason: String) {
        let failure = #expect(throws: TokenFailure.self) { try issued(json, .process) }
        #expect(failure?.detail.contains(reason) == true)
        #expect(failure?.detail.contains("secret-text") == false)
    }

    @Test func `an instance without a role says so`() {
        let failure = #expect(throws: TokenFailure.self) {
            try issued(#"{"Code":"AssumeRoleUnauthorizedAccess","Message":"x"}"#, .metadata)
        }
        #expect(failure?.detail.contains("AssumeRoleUnauthorizedAccess") == true)
    }

    @Test(arguments: [nil, "token/+=="]) func `credentials survive as one text`(token: String?)
        throws
    {
        let credentials = try Samples.credentials(token: token)
        #expect(!credentials.encoded.reveal().contains(" "))
        #expect(AWSCredentials(encoded: credentials.encoded) == credentials)
        #expect("\(credentials)".contains("secret-of") == false)
    }

    @Test(arguments: [
        ("2026-11-27T12:00:00Z", 0.0), ("2026-11-27t12:00:00.123z", 0),
        ("2026-11-27T13:30:00+01:30", 0), ("2026-11-27T11:00:00-01:00", 0),
        ("2026-11-28T12:00:01Z", 86_401),
    ])
    func `times of documents are read`(text: String, after: Double) {
        #expect(AWSTime.parse(text)?.secondsSinceEpoch == Samples.noon + after)
    }

    @Test(arguments: ["", "2026-11-27", "2026-13-27T12:00:00Z", "2026-11-27T12:00:00", "soonZ"])
    func `other texts are not times`(text: String) {
        #expect(AWSTime.parse(text) == nil)
    }

    @Test(arguments: [(0.0, "19700101T000000Z"), (Samples.noon + 59.9, "20261127T120059Z")])
    func `requests are stamped in whole seconds`(seconds: Double, stamp: String) {
        #expect(AWSTime.stamp(UnixTime(secondsSinceEpoch: seconds)) == stamp)
    }
}
