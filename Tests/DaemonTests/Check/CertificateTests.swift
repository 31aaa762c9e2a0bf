import Foundation
import NetproxyConfig
import Testing

/// Certificates and keys in a configuration.
@Suite struct CertificateTests {
    private func problems(certificate: String, key: String) throws -> [String] {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "certificates-\(UInt64.random(in: 0 ... .max))").path()
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try certificate.write(toFile: "\(directory)/c.pem", atomically: false, encoding: .utf8)
        try key.write(toFile: "\(directory)/k.pem", atomically: false, encoding: .utf8)
        return try checked(
            """
            channels:
              a:
                upstream: https://a.example
                tls: { client_certificate: "\(directory)/c.pem", client_key: "\(directory)/k.pem" }
            """
        )
        .map { "\($0.key): \($0.message)".replacing(directory, with: "") }
    }

    @Test func `a certificate with its key is accepted`() throws {
        #expect(try problems(certificate: Sample.certificate, key: Sample.key).isEmpty)
    }

    @Test func `a key of another certificate is reported before the service starts`() throws {
        #expect(
            try problems(certificate: Sample.certificate, key: Sample.otherKey) == [
                "channels.a.tls.client_key: the key /k.pem cannot be used: key values mismatch"
            ]
        )
    }

    @Test func `a key with a passphrase is refused without a prompt`() throws {
        #expect(
            try problems(certificate: Sample.certificate, key: Sample.encryptedKey) == [
                "channels.a.tls.client_key: the key /k.pem has a passphrase; write it without one "
                    + "(openssl pkey)"
            ]
        )
    }
}

/// P-256, created for these tests.
private enum Sample {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBcDCCARWgAwIBAgIUbsOEdUWW/9+SkkHMNdd6au2pznAwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjIwMDA3MzJaGA8yMTI2MTAyOTAwMDczMlow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBbS4zQw4p6u
        nyJZz3BjeX66b23H6iO3cFpusm8MGa6Y+6ec0cQkVbeiRhGpAnrlFWzelIbnrNZO
        QEwqYQDYhZejUzBRMB0GA1UdDgQWBBQF5bo5FaDRFyh+mW4YqmIvgFfCJDAfBgNV
        HSMEGDAWgBQF5bo5FaDRFyh+mW4YqmIvgFfCJDAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0kAMEYCIQCI8pks/NYhnNlFb96MhAyN+5eyFMV4bgJvtO9kMh1b
        DAIhAJeiXUdmwDQdPmRRZTW7QbmN9uFUazbparRS0SFf6XkW
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSoYwmu4CcDpjqpcM
        gWCHY+ecEVh3zXyqb72vlf6BDeihRANCAAQW0uM0MOKerp8iWc9wY3l+um9tx+oj
        t3BabrJvDBmumPunnNHEJFW3okYRqQJ65RVs3pSG56zWTkBMKmEA2IWX
        -----END PRIVATE KEY-----
        """

    static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0SVL9hG+Eeu24RNR
        D1w9sjuZfbiQLEgH1HFnOaSW2+2hRANCAASQ7JflxuzTMGp0XvJio2MAflQiJgFw
        8ecWRewSSc195EJ8Jk9P+FafS0f5EWC2PWjnQzl+rrGxEqy5EpEeCWfQ
        -----END PRIVATE KEY-----
        """

    static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAikscR78nSQLAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOGDr+2yttbSabLprC/36/IEgZDt
        3ExLY7EXS8lqnaX0otioSwVPRYgp83j/83SfIODzxO3QqrCAlIz6hsjEEU/etrWx
        pr5MsbgYcP59V7BpgAJvaDcWPbxKMH9tyF8+Gd9oXh9uJ3bzuDNAPpBU0Yk24pWM
        dlOGt3sEG2s0Aa2PH4nsA7ugD/QtvdFuUgOSc8HqNACDnfwwvf8LEhEbWOcJZqM=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
