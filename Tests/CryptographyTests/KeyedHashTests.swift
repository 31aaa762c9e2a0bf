import NetproxyCryptography
import NetproxySettings
import Testing

/// HMAC with the hash functions that APIs choose.
@Suite struct KeyedHashTests {
    @Test(arguments: [
        // RFC 2202 §3 and RFC 4231 §4.3.
        (KeyedHash.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            .sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        ),
    ])
    func `an authentication code equals the published one`(hash: KeyedHash, printed: String) {
        let text = Array("what do ya want for nothing?".utf8)
        #expect(hash.authenticationCode(of: text, key: Array("Jefe".utf8)) == bytes(printed))
    }
}
