import NetproxyCryptography
import Testing

/// AES-256-GCM against the test cases of its specification.
@Suite struct SealedBoxes {
    private let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")

    @Test func `test case 16 of the specification is sealed and opened as published`() {
        let nonce = bytes("cafebabefacedbaddecaf888")
        let content = bytes(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """
        )
        let associated = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = bytes(
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b
            """
        )
        let box = AESGCM.seal(content, key: key, nonce: nonce, authenticating: associated)
        #expect(box == nonce + sealed)
        #expect(AESGCM.open(box, key: key, authenticating: associated) == content)
    }

    @Test func `test case 13 of the specification seals empty content`() {
        let zeros = [UInt8](repeating: 0, count: 32)
        let nonce = Array(zeros.prefix(12))
        let box = AESGCM.seal([], key: zeros, nonce: nonce, authenticating: [])
        #expect(box == nonce + bytes("530f8afbc74536b9a963b4f1c4cb738b"))
        #expect(AESGCM.open(box, key: zeros, authenticating: []) == [])
    }

    @Test func `a box opens only if it is complete, with its key and its associated data`() {
        let box = AESGCM.seal(Array("canary".utf8), key: key, authenticating: [1])
        #expect(AESGCM.open(box, key: key, authenticating: [1]) == Array("canary".utf8))
        #expect(AESGCM.open(box, key: key, authenticating: [2]) == nil)
        #expect(AESGCM.open(box, key: key.reversed(), authenticating: [1]) == nil)
        for count in box.indices {
            #expect(AESGCM.open(Array(box.prefix(count)), key: key, authenticating: [1]) == nil)
        }
        for index in box.indices {
            var changed = box
            changed[index] ^= 0x80
            #expect(AESGCM.open(changed, key: key, authenticating: [1]) == nil)
        }
    }

    @Test func `no two boxes have the same nonce`() {
        let boxes = (0..<64).map { _ in AESGCM.seal([], key: key, authenticating: []).prefix(12) }
        #expect(Set(boxes).count == 64)
    }
}
