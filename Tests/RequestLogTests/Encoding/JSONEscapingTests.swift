import NetproxyBytes
import NetproxyRequestLog
import Testing

@Suite struct JSONEscapingTests {
    @Test(
        arguments: [
            ([UInt8]("plain".utf8), "plain"),
            ([UInt8](#"a"b\c/"#.utf8), #"a\"b\\c/"#),
            ([0x0a, 0x0d, 0x09], #"\n\r\t"#),
            ([0x00, 0x08, 0x0c, 0x1b, 0x1f, 0x7f], #"\u0000\u0008\u000c\u001b\u001f\u007f"#),
            ([UInt8]("é€😀".utf8), "é€😀"),
            ([0xc2, 0x80, 0xc2, 0x9b, 0x33, 0xc2, 0x9f], #"\u0080\u009b3\u009f"#),
            ([0xc2, 0xa0], "\u{a0}"),
            ([0x61, 0xff, 0x62], #"a\ufffdb"#),
            ([0xc3], #"\ufffd"#),
            ([0xc2], #"\ufffd"#),
            ([0x0f, 0x10], #"\u000f\u0010"#),
            ([0xe2, 0x82], #"\ufffd"#),
            ([0xe2, 0x82, 0x41], #"\ufffdA"#),
            ([0xc0, 0xaf], #"\ufffd\ufffd"#),
            ([0xed, 0xa0, 0x80], #"\ufffd\ufffd\ufffd"#),
            ([0xf0, 0x9f, 0x98, 0x22], #"\ufffd\""#),
            ([0xf4, 0x90, 0x80, 0x80], #"\ufffd\ufffd\ufffd\ufffd"#),
        ] as [([UInt8], String)]
    )
    func `bytes are escaped for a JSON string`(bytes: [UInt8], text: String) {
        let output = OutputBuffer()
        output.append(escaped: bytes.span)
        #expect(output.text == text)
    }

    @Test func `invalid parts are replaced as in the standard library`() {
        for first in UInt8(0x80)...0xff {
            for second in [UInt8(0x41), 0x7e, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2] {
                let bytes = [first, second, 0x80, 0x41]
                let output = OutputBuffer()
                output.append(escaped: bytes.span)
                let expected = String(decoding: bytes, as: UTF8.self)
                #expect(Samples.parsed(#"{"v":"\#(output.text)"}"#)?["v"]?.text == expected)
            }
        }
    }

    @Test func `a path cannot start a new line`() throws {
        let line = Samples.line(Samples.minimal(path: "/a\n{\"level\":\"info\"}"))
        #expect(line.split(separator: "\n").count == 1)
        let parsed = try #require(Samples.parsed(String(line.dropLast())))
        #expect(parsed["path"]?.text == "/a\n{\"level\":\"info\"}")
    }
}
