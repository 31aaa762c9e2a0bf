import Foundation
import NetworkCore
import OAuth
import Testing

/// Token files at rest.
@Suite struct TokenSealTests {
    private static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    private static let other = Secret("//ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    private static let content = Array(#"{"refresh_token":"canary-77"}"#.utf8)

    @Test func `sealed content opens with the same key and is unreadable before`() throws {
        let seal = try TokenSeal(base64: Self.key)
        let file = try seal.seal(Self.content, family: "orders")
        #expect(!String(decoding: file, as: UTF8.self).contains("canary"))
        #expect(try TokenSeal.open(file, family: "orders", with: seal) == Self.content)
    }

    @Test func `a file sealed years ago opens`() throws {
        let file = """
            {"data":"AAECAwQFBgcICQoLPCCkfqOXp2jlHuPk2owWT7n05FWeGi0FFVDSp2AN2cDv7eIaZ9+j4ufALESW",
            "key":"6oio3hHvCZEV","sealed":"AES-256-GCM"}
            """
        let seal = try TokenSeal(base64: Self.key)
        let content = try TokenSeal.open(Array(file.utf8), family: "orders", with: seal)
        #expect(content == Self.content)
    }

    @Test func `sealing the same content twice gives different files`() throws {
        let seal = try TokenSeal(base64: Self.key)
        let files = try (0..<32).map { _ in try seal.seal(Self.content, family: "orders") }
        #expect(Set(files).count == 32)
    }

    @Test func `a plain file opens unchanged`() throws {
        let seal = try TokenSeal(base64: Self.key)
        #expect(try TokenSeal.open(Self.content, family: "orders", with: seal) == Self.content)
        #expect(try TokenSeal.open(Self.content, family: "orders", with: nil) == Self.content)
    }

    @Test func `a sealed file reports a missing key and a wrong key`() throws {
        let file = try TokenSeal(base64: Self.key).seal(Self.content, family: "orders")
        #expect(throws: TokenSealError.noKey) {
            try TokenSeal.open(file, family: "orders", with: nil)
        }
        let other = try TokenSeal(base64: Self.other)
        #expect(throws: TokenSealError.otherKey) {
            try TokenSeal.open(file, family: "orders", with: other)
        }
    }

    @Test func `the first key seals, and every key opens`() throws {
        let file = try TokenSeal(base64: Self.key).seal(Self.content, family: "orders")
        let both = try TokenSeal(base64: Self.other, earlier: [Self.key])
        #expect(try TokenSeal.open(file, family: "orders", with: both) == Self.content)
        let next = try both.seal(Self.content, family: "orders")
        let other = try TokenSeal(base64: Self.other)
        #expect(try TokenSeal.open(next, family: "orders", with: other) == Self.content)
        #expect(throws: TokenSealError.key) {
            try TokenSeal(base64: Self.other, earlier: [Secret("short")])
        }
    }

    @Test func `the file of another family does not open`() throws {
        let seal = try TokenSeal(base64: Self.key)
        let file = try seal.seal(Self.content, family: "orders")
        #expect(throws: TokenSealError.damaged) {
            try TokenSeal.open(file, family: "billing", with: seal)
        }
    }

    @Test func `a file with any byte of its data changed does not open`() throws {
        let seal = try TokenSeal(base64: Self.key)
        let file = try seal.seal(Self.content, family: "orders")
        var members = try #require(
            try JSONSerialization.jsonObject(with: Data(file)) as? [String: String]
        )
        let data = try #require(members["data"].flatMap { Data(base64Encoded: $0) })
        for index in data.indices {
            var changed = data
            changed[index] ^= 1
            members["data"] = changed.base64EncodedString()
            let file = Array(try JSONSerialization.data(withJSONObject: members))
            #expect(throws: TokenSealError.damaged) {
                try TokenSeal.open(file, family: "orders", with: seal)
            }
        }
    }

    @Test(arguments: [
        "", "secret", "AAECAw==", "AAECAwQFBgcICQoLDA0ODw==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ==",
    ])
    func `a key of another length is refused`(text: String) {
        #expect(throws: TokenSealError.key) { try TokenSeal(base64: Secret(text)) }
    }

    @Test func `no description shows the key`() throws {
        let seal = try TokenSeal(base64: Self.key)
        var text = "\(seal) \(String(reflecting: seal))"
        dump(seal, to: &text)
        #expect(!text.contains("[0, 1, 2"))
        #expect(!text.contains("UInt8"))
        #expect(!text.contains(Self.key.reveal()))
    }
}
