import Foundation
import NetproxyBytes
import NetproxyInflation
import Testing

@testable import NetproxyDecompression

@Suite struct DecompressorTests {
    typealias Coding = Decompressor.Coding

    /// Content encoded by another implementation.
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let coding: Coding
        let bytes: [UInt8]
        var testDescription: String { name }

        init(_ name: String, _ coding: Coding, _ text: String) {
            (self.name, self.coding) = (name, coding)
            bytes = Data(base64Encoded: text).map(Array.init) ?? []
        }
    }

    static let text = (0..<60).map { "line \($0): the quick brown fox\n" }.joined()

    /// Encoded by CPython's zlib and the command lines of brotli and zstd.
    static let samples = [
        Sample(
            "gzip",
            .gzip,
            "H4sIAAAAAAACA33US04CUAxA0TmreEugP0CXg8FIIBCNRpdPXABnfEc9aXs9305r+7q+P07r8+f8dlnH"
                + "r/vvbb3f/zbX/xZoiVZojTZoO7Q92gHtRbMTRjIhmpBNCCekE+IJ+YSAQkIpoeTuSCgllBJKCaWEUkIp"
                + "oZRQSagkVDwvCZWESkIloZJQSagk1BJqCbWEmh9IQi2hllBLqCXUEhoJjYRGQiOh4ZOW0EhoJDQSmidC"
                + "D24onmTCBgAA"
        ),
        Sample(
            "deflate",
            .deflate,
            "eNp91EtOAlAMQNE5q3hLoD9Al4PBSCAQjUaXT1wAZ3xHPWl7Pd9Oa/u6vj9O6/Pn/HZZx6/772293/82"
                + "1/8WaIlWaI02aDu0PdoB7UWzE0YyIZqQTQgnpBPiCfmEgEJCKaHk7kgoJZQSSgmlhFJCKaGUUEmoJFQ8"
                + "LwmVhEpCJaGSUEmoJNQSagm1hJofSEItoZZQS6gl1BIaCY2ERkIjoeGTltBIaCQ0EponQg9/CUin"
        ),
        Sample(
            "raw",
            .deflate,
            "fdRLTgJQDEDROat4S6A/QJeDwUggEI1Gl09cAGd8Rz1pez3fTmv7ur4/Tuvz5/x2Wcev++9tvd//Ntf/"
                + "FmiJVmiNNmg7tD3aAe1FsxNGMiGakE0IJ6QT4gn5hIBCQimh5O5IKCWUEkoJpYRSQimhlFBJqCRUPC8J"
                + "lYRKQiWhklBJqCTUEmoJtYSaH0hCLaGWUEuoJdQSGgmNhEZCI6Hhk5bQSGgkNBKaJ0IP"
        ),
        Sample(
            "br",
            .br,
            "H8EGAIyUqtsjHRvGyh7HGGwFkDc8iIMDkOGRSjDM9DCRm8dZdPzYs97tyJ1H/xuvUKrUGm0dXb0ecWrA"
                + "ZLE53Dy8ejGLwWSxOdw8vHqxisFksTncPLx6sYvBZLE53Dy8enGKwWSxOdw8vHA="
        ),
        Sample(
            "zstd",
            .zstd,
            "KLUv/QRojQMAckUQE6CvBkDK+5SdqhqBtSmlcv22QgH///+/bdu23bZt25IkSZLbtm2bURDDXQ64oiWA"
                + "rGhCAidpKilQGCo4hECBmic8qBHg7/8ZsKPiAREkBP8nBCo/Tdd1LgkJRibSIYDsoz3oGEfguj1LC/GA"
                + "rQIDYmQf"
        ),
    ]

    /// 32 KiB of zeros in gzip.
    static let zeros = Sample(
        "zeros",
        .gzip,
        "H4sIAAAAAAACA+3BAQEAAACAkP6v7ggKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABim/B8B"
            + "AIAAAA=="
    )
    /// 64 MiB of zeros in br, 1 MiB in zstd.
    static let bombs = [
        Sample(
            "br",
            .br,
            "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69/8D"
        ),
        Sample(
            "zstd",
            .zstd,
            "KLUv/QRoTAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAwAQAPE+FuE="
        ),
    ]

    /// Decodes pieces one after another, and checks that the pieces of output are small.
    private func decoded(_ coding: Coding, _ pieces: [ArraySlice<UInt8>]) throws -> [UInt8] {
        var decompressor = Decompressor(coding)
        var output: [UInt8] = []
        for piece in pieces {
            var input = ByteSlice(Array(piece))
            while let part = try decompressor.next(from: &input) {
                #expect(!part.isEmpty && part.count <= 64 * 1024)
                output += part.array
            }
            #expect(input.isEmpty)
        }
        try decompressor.finish()
        return output
    }

    @Test(arguments: samples)
    func `content is decoded regardless of the cut`(sample: Sample) throws {
        let (bytes, text) = (sample.bytes[...], Array(Self.text.utf8))
        #expect(try decoded(sample.coding, [bytes]) == text)
        #expect(try decoded(sample.coding, bytes.indices.map { bytes[$0...$0] }) == text)
        for cut in bytes.indices {
            #expect(try decoded(sample.coding, [bytes[..<cut], bytes[cut...]]) == text)
        }
    }

    @Test(arguments: samples)
    func `content that ends too early is an error`(sample: Sample) throws {
        for end in 1..<sample.bytes.count {
            let fault = #expect(throws: Decompressor.Fault.self) {
                try decoded(sample.coding, [sample.bytes[..<end]])
            }
            #expect(fault?.reason == "the \(sample.coding) content ends too early", "\(end)")
        }
        #expect(try decoded(sample.coding, []) == [])
    }

    @Test(arguments: samples)
    func `malformed content causes an error or other text`(sample: Sample) throws {
        for index in sample.bytes.indices {
            for bit in 0..<8 {
                var bytes = sample.bytes
                bytes[index] ^= 1 << UInt8(bit)
                do {
                    _ = try decoded(sample.coding, [bytes[...]])
                } catch let fault as Decompressor.Fault {
                    #expect(fault.reason.hasPrefix("the \(sample.coding) content "))
                }
            }
        }
    }

    @Test(arguments: Coding.allCases)
    func `content without the coding causes an error that names the coding`(coding: Coding) {
        let fault = #expect(throws: Decompressor.Fault.self) {
            try decoded(coding, [Array(#"{"plain": "text", "of": "some length"}"#.utf8)[...]])
        }
        #expect(fault?.reason.contains("the \(coding) content ") == true)
    }

    @Test func `several members of gzip form one content, and bytes after them are dropped`() throws
    {
        let member = Self.samples[0].bytes
        let twice = Array((Self.text + Self.text).utf8)
        #expect(try decoded(.gzip, [(member + member)[...]]) == twice)
        #expect(try decoded(.gzip, [member[...], member[...], [0, 0, 7]]) == twice)
        #expect(try decoded(.br, [(Self.samples[3].bytes + [1, 2])[...]]).count == twice.count / 2)
    }

    @Test func `content that grows too much is refused`() throws {
        let member = Self.zeros.bytes
        // A growth by 500: allowed up to 16 MiB.
        let pieces = Array(repeating: member[...], count: 512)
        #expect(try decoded(.gzip, pieces).count == 16 * 1024 * 1024)
        let fault = #expect(throws: Decompressor.Fault.self) {
            try decoded(.gzip, pieces + pieces)
        }
        #expect(fault?.reason == "the gzip content grows to more than 200 times its size")
        // With the same number of bytes in between that do not grow.
        let line = Self.samples[2].bytes
        #expect(try decoded(.deflate, [line[...]]).count == Self.text.utf8.count)
        for bomb in Self.bombs {
            #expect(throws: Decompressor.Fault.self) {
                try decoded(bomb.coding, Array(repeating: bomb.bytes[...], count: 40))
            }
        }
    }

    @Test func `a window of more than 8 MiB is refused`() throws {
        // RFC 8878 §3.1.1: a descriptor of 2^(10 + 17) bytes, and an empty last block.
        let large: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, 17 << 3, 1, 0, 0]
        #expect(throws: Decompressor.Fault.self) { try decoded(.zstd, [large[...]]) }
        var small = large
        small[5] = 13 << 3
        #expect(try decoded(.zstd, [small[...]]) == [])
    }
}
