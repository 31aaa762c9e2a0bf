import NetproxyHTTPMessage
import Testing

@Suite struct GrammarTests {
    @Test func `the character classes match the RFCs`() {
        let token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        for byte in UInt8.min...UInt8.max {
            #expect(Grammar.isTokenByte(byte) == token.utf8.contains(byte))
            #expect(Grammar.isFieldValueByte(byte) == (byte == 9 || byte >= 32 && byte != 127))
            #expect(Grammar.isTargetByte(byte) == (byte > 32 && byte < 127 && byte != 35))
            let text = String(UnicodeScalar(byte))
            #expect(Grammar.isDigit(byte) == "0123456789".contains(text))
            #expect(Grammar.hexValue(byte) == (byte < 128 ? UInt8(text, radix: 16) : nil))
        }
    }

    @Test func `only letters change case`() {
        #expect("@AZ[`az{\u{7F}".utf8.map(Grammar.lowercased) == Array("@az[`az{\u{7F}".utf8))
        #expect(Grammar.equalIgnoringCase("Keep-ALIVE", "keep-alive"))
        #expect(!Grammar.equalIgnoringCase("a@", "a`"))
    }

    @Test(arguments: [
        (["a, b"], ["a", "b"]), (["a\t,\t b c ", ",, d"], ["a", "b c", "d"]), ([" \t"], []),
        ([], []),
    ])
    func `the elements of a list come from all of its lines`(
        lines: [String],
        expected: [Substring]
    ) {
        var headers = HTTPHeaders()
        for line in lines { headers.append("Via", validated: line) }
        #expect(headers.elements(of: "via") == expected)
    }
}
