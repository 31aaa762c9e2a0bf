import NetproxyRequestLog
import Testing

@Suite struct JSONReaderTests {
    @Test(
        arguments: [
            (#""a\"\\\/\b\f\n\r\té""#, .text("a\"\\/\u{8}\u{c}\n\r\té")),
            (#""\ud83d\ude00 \ud83d \ufffd""#, .text("😀 \u{fffd} \u{fffd}")),
            ("-12.5e1", .number(-125)), ("true", .flag(true)), ("null", .null),
            ("[]", .list([])), (" [ 1 , \"x\" ] ", .list([.number(1), .text("x")])),
            ("{}", .object([])),
        ] as [(String, LogValue)]
    )
    func `a value is parsed`(text: String, value: LogValue) throws {
        let line = try #require(Samples.parsed(#"{"v":\#(text)}"#))
        #expect(line["v"] == value)
    }

    @Test(arguments: [
        "", "[]", "1", "{", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1}x"#, #"{"a":tru}"#,
        #"{"a":"b"#, #"{"a":"\x"}"#, "{\"a\":\"\n\"}", #"{"a":1"#, #"{"a":--1}"#, #"{"a":"\u12"}"#,
    ])
    func `text that is not a JSON object is not a line`(text: String) {
        #expect(Samples.parsed(text) == nil)
    }

    @Test func `the nesting depth is limited`() {
        func line(_ depth: Int) -> String {
            let (opening, closing) = ("[", "]")
            return #"{"a":"# + String(repeating: opening, count: depth)
                + String(repeating: closing, count: depth) + "}"
        }
        // Sixteen levels with the object.
        #expect(Samples.parsed(line(15)) != nil)
        #expect(Samples.parsed(line(16)) == nil)
        #expect(Samples.parsed(line(10_000)) == nil)
    }
}
